#include "compact/picture.hpp"

#include <algorithm>
#include <utility>

#include "pool/stream_queues.hpp"

namespace cistern::compact {

PoolPicture::PoolPicture(const pool::PoolCore& pool) {
  for (const auto& arena : pool.arenas) {
    if (arena->kind() != pool::ArenaKind::direct) add(pool, *arena);
  }
}

void PoolPicture::add(const pool::PoolCore& pool, const pool::Arena& arena) {
  // The handles' own table is asked, because records of other blocks may be changing in magazines.
  std::vector<std::pair<std::uint64_t, pool::MovableId>> movables;  // offset, handle
  pool.movables.for_each([&](pool::MovableId id, const pool::Movable& movable) {
    if (movable.pins == 0 && arena.contains(movable.address)) {
      movables.emplace_back(arena.offset_of(movable.address), id);
    }
  });
  std::sort(movables.begin(), movables.end());
  const core::Suballocator& blocks = arena.blocks();
  ArenaPicture pieces;
  auto next = movables.begin();
  for (auto index = blocks.first_block(); index != core::kNoBlock; index = blocks.next_block(index)) {
    const core::BlockView block = blocks.view(index);
    Piece piece{block.range, PieceKind::fixed, 0, 0};
    if (block.state == core::BlockState::free && block.readiness.slot == core::kReadySlot) {
      piece.kind = PieceKind::hole;
      free_bytes_ += block.range.bytes;
    } else if (next != movables.end() && next->first == block.range.offset) {
      // What other streams use stays: only work of the default stream is waited for.
      if (!blocks.is_pinned(block.range) && pool::uses_of(blocks.record(index)) == 0) {
        piece.kind = PieceKind::movable;
        piece.movable = next->second;
        piece.alignment = pool.movables.find(next->second)->alignment;
      }
      ++next;
    }
    if (piece.kind == PieceKind::fixed && !pieces.empty() && pieces.back().kind == PieceKind::fixed) {
      pieces.back().range.bytes += piece.range.bytes;
    } else {
      pieces.push_back(piece);
    }
  }
  arenas_.push_back(std::move(pieces));
  bases_.push_back(arena.base());
}

}  // namespace cistern::compact
