#include "base/lazy_table.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace cistern::base {

Result<void*> map_lazy_bytes(std::uint64_t bytes) noexcept {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return Status(StatusCode::out_of_memory,
                  "the host refused " + std::to_string(bytes) + " bytes of address space for bookkeeping (" +
                      std::strerror(errno) + "); raise ulimit -v or lower the pool's limit",
                  errno);
  }
  return base;
}

void unmap_lazy_bytes(void* base, std::uint64_t bytes) noexcept { ::munmap(base, bytes); }

void back_lazy_bytes(void* base, std::uint64_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(base) & ~(page - 1);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(base) + bytes;
  if (bytes > 0) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#else
  (void)base, (void)bytes;
#endif
}

}  // namespace cistern::base
