// Structs that grow with versions: how those of the caller, older or newer than ours, are read and written.
//
// A caller's struct begins with struct_size. Fields that an older caller does not have are zero for us, which is their
// default; fields of a newer caller that we do not know must be zero. All fields lie in groups of 8 bytes, so that a
// size that is no multiple of 8 can only be a mistake.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.hpp"

namespace cistern::capi {

inline constexpr std::uint32_t kMinStructBytes = 8;
inline constexpr std::uint32_t kMaxStructBytes = 4096;  // beyond this struct_size was never set

template <typename Struct>
base::Status check_struct(const Struct* given, std::string_view name) {
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  static_assert(offsetof(Struct, struct_size) == 0 && sizeof(Struct) % 8 == 0 && sizeof(Struct) <= kMaxStructBytes);
  if (given == nullptr) return base::invalid_argument("the " + std::string(name) + " is NULL");
  const std::uint32_t size = given->struct_size;
  if (size >= kMinStructBytes && size <= kMaxStructBytes && size % 8 == 0) return {};
  return base::invalid_argument("struct_size of the " + std::string(name) + " is " + std::to_string(size) +
                                "; set it to sizeof(" + std::string(name) + "_t)");
}

// `known` gets the fields that both sides know.
template <typename Struct>
base::Status read_struct(const Struct* given, std::string_view name, Struct* known) {
  if (base::Status wrong = check_struct(given, name); !wrong.is_ok()) return wrong;
  const std::uint32_t size = given->struct_size;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return base::unsupported("byte " + std::to_string(i) + " of the " + std::string(name) +
                             " belongs to a field that this version of the library does not know; leave it zero");
  }
  *known = Struct{};
  std::memcpy(known, given, std::min<std::size_t>(size, sizeof(Struct)));
  known->struct_size = sizeof(Struct);
  return {};
}

// The caller's struct_size stays; fields that only the caller knows become zero.
template <typename Struct>
base::Status write_struct(const Struct& known, std::string_view name, Struct* wanted) {
  if (base::Status wrong = check_struct(wanted, name); !wrong.is_ok()) return wrong;
  const std::uint32_t size = wanted->struct_size;
  auto* bytes = reinterpret_cast<unsigned char*>(wanted);
  std::memset(bytes, 0, size);
  std::memcpy(bytes, &known, std::min<std::size_t>(size, sizeof(Struct)));
  wanted->struct_size = size;
  return {};
}

}  // namespace cistern::capi
