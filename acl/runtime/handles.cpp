#include "acl/runtime/handles.hpp"

#include <array>

namespace cistern::acl {

std::string_view kind_name(HandleKind kind) noexcept {
  constexpr std::array<std::string_view, 10> kNames = {"object",
                                                       "context",
                                                       "stream",
                                                       "event",
                                                       "memory pool",
                                                       "handle of physical memory",
                                                       "data buffer",
                                                       "dataset",
                                                       "tensor description",
                                                       "model description"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string explain_handle(HandleKind kind, std::uint64_t handle, std::uint64_t last) {
  const std::string name(kind_name(kind));
  if (handle == 0) return "the " + name + " is NULL";
  if (handle >> kHandleMarkShift != kHandleMark) return hex(handle) + " is no " + name + " of this library";
  const auto other = static_cast<HandleKind>((handle >> kHandleKindShift) & 0xFF);
  if (other != kind) return hex(handle) + " is no " + name + " but a " + std::string(kind_name(other));
  const std::uint64_t number = handle & ((std::uint64_t{1} << kHandleKindShift) - 1);
  if (number == 0 || number > last) return hex(handle) + " is no " + name + " of this library";
  return name + " " + hex(handle) + " was destroyed, or ended with its device";
}

}  // namespace cistern::acl
