#include "bench/contenders/host_heap.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace cistern::bench {
namespace {

constexpr const char* kTunables = "GLIBC_TUNABLES";
constexpr const char* kRoom = "glibc.rtld.optional_static_tls=65536";

HeapLibrary load(const char* name, const char* file) {
  HeapLibrary library;
  library.name = name;
  void* handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) {
    library.missing = ::dlerror();
    return library;
  }
  library.allocate = reinterpret_cast<void* (*)(std::size_t)>(::dlsym(handle, "malloc"));
  library.free = reinterpret_cast<void (*)(void*)>(::dlsym(handle, "free"));
  if (library.allocate == nullptr || library.free == nullptr) library.missing = "it has no malloc and free";
  if (library.allocate == &std::malloc) library.missing = "its malloc is the C library's";
  return library;
}

}  // namespace

std::vector<HeapLibrary> load_heaps() {
  return {{.name = "glibc", .allocate = &std::malloc, .free = &std::free, .missing = {}},
          load("mimalloc", "libmimalloc.so.2"),
          load("jemalloc", "libjemalloc.so.2"),
          load("tcmalloc", "libtcmalloc_minimal.so.4")};
}

void make_room_for_heaps(char** arguments) {
  if (std::getenv(kTunables) != nullptr || ::setenv(kTunables, kRoom, 1) != 0) return;
  ::execv("/proc/self/exe", arguments);  // where it fails, libraries that need the room will say so
}

}  // namespace cistern::bench
