// DynamicLibrary: a shared library opened while the program runs, for everything that may or may not be installed:
// vendor drivers, ONNX Runtime. Closed with the object, so symbols must not outlive it.
//
// Thread-safety: as for a pointer; several threads may look up symbols of one open library.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "base/result.hpp"

namespace cistern::base {

class DynamicLibrary {
 public:
  // Opens the first candidate that the loader takes: a path with a slash in it, or a name that the loader looks for in
  // its directories. not_found names every candidate with the loader's own reason.
  static Result<DynamicLibrary> open(const std::vector<std::string>& candidates);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  // The candidate that was opened.
  const std::string& name() const noexcept { return name_; }

  // not_found names library and symbol. A symbol whose value is null counts as found.
  Result<void*> symbol(const char* symbol) const;

  // The same as a pointer to function: library.function<int(const char*)>("open_session").
  template <typename Signature>
  Result<Signature*> function(const char* symbol_name) const {
    static_assert(std::is_function_v<Signature>, "give the function's type, e.g. int(const char*)");
    auto found = symbol(symbol_name);
    if (!found.is_ok()) return found.take_status();
    return reinterpret_cast<Signature*>(found.value());
  }

 private:
  DynamicLibrary(void* handle, std::string name) noexcept : handle_(handle), name_(std::move(name)) {}

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace cistern::base
