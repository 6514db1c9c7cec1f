// Loading by dlopen: every symbol is resolved at once (a library that cannot work fails here, not in the middle of an
// inference) and none becomes visible to others (two versions of a vendor library may live side by side).
#include "base/dynlib.hpp"

#include <dlfcn.h>

#include <utility>

namespace cistern::base {

namespace {

std::string last_loader_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "the loader gives no reason";
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(const std::vector<std::string>& candidates) {
  if (candidates.empty()) return invalid_argument("no library was named to be loaded");
  std::string tried;
  for (const std::string& candidate : candidates) {
    // The loader takes "" for the program itself, which nobody means here.
    void* handle = candidate.empty() ? nullptr : ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return DynamicLibrary(handle, candidate);
    if (!tried.empty()) tried += "; ";
    tried += candidate.empty() ? "an empty name" : candidate + " (" + last_loader_error() + ")";
  }
  return not_found("no library could be loaded; tried " + tried);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

Result<void*> DynamicLibrary::symbol(const char* symbol) const {
  ::dlerror();  // an old error must not be taken for this call's
  void* address = ::dlsym(handle_, symbol);
  if (address == nullptr) {
    const char* reason = ::dlerror();
    if (reason != nullptr) return not_found(name_ + " has no symbol " + symbol + " (" + reason + ")");
  }
  return address;
}

}  // namespace cistern::base
