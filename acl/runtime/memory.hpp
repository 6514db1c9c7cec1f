// Allocation and freeing for the program: the pool does the work, the block map remembers for whom.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "acl/runtime/runtime.hpp"

namespace cistern::acl {

struct Wish {
  std::uint64_t bytes = 0;
  std::string tag;                         // empty: none
  std::optional<cistern_stream_t> stream;  // for work of this stream
  const void* caller = nullptr;
};

// `place` is where the program wants the address; it may be null, as the program gave it.
Outcome allocate(Runtime& runtime, const std::shared_ptr<DevicePool>& pool, const Wish& wish, void** place);

// `stream`: in its order; else at once.
Outcome release(Runtime& runtime, const void* address, BlockKind kind, std::optional<cistern_stream_t> stream);

}  // namespace cistern::acl
