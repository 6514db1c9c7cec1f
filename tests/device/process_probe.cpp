#include "device/process_probe.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cistern::device::testing {

bool readable(Address at) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  // The kernel reads the byte for us and says EFAULT where a load would trap.
  const bool ok = ::write(ends[1], reinterpret_cast<const void*>(at), 1) == 1;
  if (!ok && errno != EFAULT) std::abort();
  ::close(ends[0]);
  ::close(ends[1]);
  return ok;
}

bool mapped(Address base, std::uint64_t bytes) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t used = 0;
    const Address start = std::stoull(line, &used, 16);
    const Address end = std::stoull(line.substr(used + 1), nullptr, 16);
    if (start < base + bytes && base < end) return true;
  }
  return false;
}

std::uint64_t mappings_named(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t found = 0;
  for (std::string line; std::getline(maps, line);) found += line.find(text) != std::string::npos ? 1 : 0;
  return found;
}

std::uint64_t open_files_named(const std::string& text) {
  std::uint64_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry, gone);
    if (!gone && target.string().find(text) != std::string::npos) ++found;
  }
  return found;
}

std::uint64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    return std::stoull(line.substr(field.size() + 1)) * 1024;
  }
  std::abort();
}

int RefusingSystem::map(std::uint64_t* address, std::uint64_t bytes, int protection, int flags, int file,
                        std::uint64_t offset) noexcept {
  return refused() ? ENOMEM : HostSystem::map(address, bytes, protection, flags, file, offset);
}

int RefusingSystem::unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
  return refused() ? ENOMEM : HostSystem::unmap(address, bytes);
}

int RefusingSystem::protect(std::uint64_t address, std::uint64_t bytes, int protection) noexcept {
  return refused() ? ENOMEM : HostSystem::protect(address, bytes, protection);
}

int RefusingSystem::advise(std::uint64_t address, std::uint64_t bytes, int advice) noexcept {
  return refused() ? EINVAL : HostSystem::advise(address, bytes, advice);
}

int RefusingSystem::move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept {
  return refused() ? ENOMEM : HostSystem::move(from, to, bytes);
}

int RefusingSystem::punch(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return refused() ? EIO : HostSystem::punch(file, offset, bytes);
}

}  // namespace cistern::device::testing
