#include "base/lazy_table.hpp"

#include <sys/mman.h>

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

}  // namespace cistern::base
