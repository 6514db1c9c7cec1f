#include "device/host_system.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include "base/bits.hpp"

namespace cistern::device {

namespace {

constexpr std::uint64_t kSystemPage = 4096;

void* pointer(std::uint64_t address) noexcept { return reinterpret_cast<void*>(address); }

// Calls `use` with each piece of a file of /proc; pieces end anywhere.
template <typename Use>
void read_pieces(const char* path, Use use) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 64 * 1024> piece;
  for (;;) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    use(std::string_view(piece.data(), static_cast<std::size_t>(got)));
  }
  ::close(file);
}

// The number after `name` in a small file of /proc; 0 where there is none.
std::uint64_t read_number(const char* path, std::string_view name) noexcept {
  std::string text;
  read_pieces(path, [&](std::string_view piece) { text += piece; });
  const std::size_t found = text.find(name);
  if (found == std::string::npos) return 0;
  const std::size_t digits = text.find_first_of("0123456789", found + name.size());
  if (digits == std::string::npos) return 0;
  std::uint64_t value = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), value);
  return value;
}

}  // namespace

HostSystem& HostSystem::real() noexcept {
  static HostSystem* const instance = new HostSystem;  // outlives every device, static ones included
  return *instance;
}

int HostSystem::map(std::uint64_t* address, std::uint64_t bytes, int protection, int flags, int file,
                    std::uint64_t offset) noexcept {
  void* const mapped = ::mmap(pointer(*address), bytes, protection, flags, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return errno;
  *address = reinterpret_cast<std::uint64_t>(mapped);
  return 0;
}

int HostSystem::unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
  return ::munmap(pointer(address), bytes) == 0 ? 0 : errno;
}

int HostSystem::protect(std::uint64_t address, std::uint64_t bytes, int protection) noexcept {
  return ::mprotect(pointer(address), bytes, protection) == 0 ? 0 : errno;
}

int HostSystem::advise(std::uint64_t address, std::uint64_t bytes, int advice) noexcept {
  return ::madvise(pointer(address), bytes, advice) == 0 ? 0 : errno;
}

int HostSystem::move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept {
  // MREMAP_DONTUNMAP: without it the source becomes a hole that any other thread's mmap may take.
  void* const moved =
      ::mremap(pointer(from), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, pointer(to));
  return moved == MAP_FAILED ? errno : 0;
}

int HostSystem::punch(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const int result = ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                 static_cast<off_t>(bytes));
  return result == 0 ? 0 : errno;
}

std::uint64_t HostSystem::physical_bytes() noexcept {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t HostSystem::available_bytes() noexcept { return read_number("/proc/meminfo", "MemAvailable:") * 1024; }

std::uint64_t HostSystem::map_count() noexcept {
  std::uint64_t lines = 0;
  read_pieces("/proc/self/maps", [&](std::string_view piece) {
    lines += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
  });
  return lines;
}

std::uint64_t HostSystem::max_map_count() noexcept {
  constexpr std::uint64_t kKernelDefault = 65530;
  const std::uint64_t limit = read_number("/proc/sys/vm/max_map_count", "");
  return limit == 0 ? kKernelDefault : limit;
}

int HostSystem::map_aligned(std::uint64_t* address, std::uint64_t bytes, std::uint64_t alignment, int protection,
                            int flags) noexcept {
  const std::uint64_t extra = alignment > kSystemPage ? alignment : 0;
  if (bytes + extra < bytes) return ENOMEM;
  std::uint64_t start = *address;
  if (int failed = map(&start, bytes + extra, protection, flags, -1, 0); failed != 0) return failed;
  const std::uint64_t aligned = base::round_up(start, alignment);
  const std::uint64_t head = aligned - start;
  // What is cut off is ours and untouched; should the kernel refuse, it stays as unused addresses.
  if (head > 0) (void)unmap(start, head);
  if (extra > head) (void)unmap(aligned + bytes, extra - head);
  *address = aligned;
  return 0;
}

int HostSystem::seal(std::uint64_t address, std::uint64_t bytes) noexcept {
  // A new mapping in one step: the addresses are never free for others, and the kernel joins it with its neighbours,
  // which it would not do after mprotect of a range whose memory has moved away.
  std::uint64_t place = address;
  return map(&place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace cistern::device
