// Copies: which side an address is on, whether that is the side that the program says, and the copying itself.
//
// Permissive mode does what can only be meant and says so once a place; strict mode refuses and names the argument, as
// a program on a real NPU would fail there. A range that passes the end of its block, or lies in memory that was freed,
// is refused in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "acl/acl_rt.h"
#include "acl/runtime/runtime.hpp"

namespace cistern::acl {

// One argument of a function: a range and where it is.
struct Range {
  std::string argument;  // "dst"
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::optional<Block> block;  // none: memory of the host's that is not ours
  bool is_on_device() const noexcept { return block && block->kind != BlockKind::host; }
  void* pointer() const noexcept { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }
};

Outcome locate(const Runtime& runtime, std::string_view argument, const void* pointer, std::uint64_t bytes,
               Range* range);

// Whether the range is on the side where the program must have meant it to be. `caller` is the program's call.
Outcome check_side(Runtime& runtime, const Range& range, bool must_be_on_device, const void* caller);

// An error where the range is not what it was when the program named it.
Outcome check_still_there(const Runtime& runtime, const Range& range);

struct CopyShape {  // a copy of `height` rows
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  std::uint64_t to_pitch = 0;
  std::uint64_t from_pitch = 0;
};

struct Copy {
  Range to;
  Range from;
  CopyShape shape;
};

Outcome plan_copy(Runtime& runtime, void* to, const void* from, const CopyShape& shape, aclrtMemcpyKind kind,
                  const void* caller, Copy* copy);
Outcome perform(const Copy& copy);
// In the order of the stream; looks again then whether the blocks are still the same.
Outcome submit(Runtime& runtime, Stream& stream, Copy copy);

Outcome fill(const Range& range, std::uint8_t value);
Outcome submit_fill(Runtime& runtime, Stream& stream, Range range, std::uint8_t value);

}  // namespace cistern::acl
