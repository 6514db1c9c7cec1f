// Evacuation: which window of addresses to empty, and where its blocks go, so that the fewest bytes are copied.
//
// A window is a range long enough for a request that holds nothing but holes and blocks that may move. Every block that
// reaches into it is copied to a hole elsewhere, never onto itself. Windows are weighed by the bytes of their blocks;
// an optimum lies where an end of the window meets an end of a block or hole, so two windows for each are enough. The
// cheapest whose blocks find places wins. Where a block finds none, a window for it is emptied first, in the same way,
// a few levels deep; that is where a cheap window may turn out dear, so the search goes on while one may be cheaper.
//
// Pure: pictures in, a plan out; it holds no lock and calls nothing. The picture may be out of date when the plan is
// carried out, so each step of it is checked then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/types.hpp"
#include "pool/movables.hpp"

namespace cistern::compact {

enum class PieceKind : std::uint8_t {
  hole,     // free memory
  movable,  // a block that may be copied elsewhere now
  fixed,    // anything else
};

struct Piece {
  core::Range range;
  PieceKind kind = PieceKind::fixed;
  pool::MovableId movable = 0;
  std::uint64_t alignment = 0;  // of a movable block
};

// The pieces of an arena, ascending, tiling it.
using ArenaPicture = std::vector<Piece>;

struct BlockMove {
  pool::MovableId movable = 0;
  std::size_t from_arena = 0;  // by the order of the pictures
  std::size_t to_arena = 0;
  core::Range from;
  std::uint64_t to = 0;  // offset
};

struct Evacuation {
  std::size_t arena = 0;
  core::Range window;
  std::vector<BlockMove> moves;  // in this order: places of later ones may be emptied by earlier ones
  std::uint64_t bytes = 0;       // to copy
};

// nullopt: no window of `bytes` at a multiple of `alignment` can be emptied, or none was found in bounded time.
std::optional<Evacuation> plan_evacuation(const std::vector<ArenaPicture>& arenas, std::uint64_t bytes,
                                          std::uint64_t alignment);

}  // namespace cistern::compact
