#include "compact/evacuation.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/bits.hpp"

namespace cistern::compact {
namespace {

// Windows tried for the request itself, for a block that finds no place, and for one that stands in the way of that.
constexpr std::array<std::size_t, 3> kTries = {64, 16, 6};
// Pieces looked at or copied before the search ends with what it has.
constexpr std::uint64_t kMostWork = 20'000'000;

using State = std::vector<ArenaPicture>;

struct Window {
  std::size_t arena = 0;
  core::Range range;
  std::uint64_t cost = 0;  // bytes of the blocks that reach into it
};

struct Place {
  std::size_t arena = 0;
  std::size_t piece = 0;
  std::uint64_t offset = 0;
};

std::uint64_t pieces_of(const State& state) noexcept {
  std::uint64_t pieces = 0;
  for (const ArenaPicture& arena : state) pieces += arena.size();
  return pieces;
}

// The windows within pieces [begin, end) of an arena, none of which is fixed.
void add_windows(const ArenaPicture& pieces, std::size_t begin, std::size_t end, std::uint64_t bytes,
                 std::uint64_t alignment, std::size_t arena, std::vector<Window>* windows) {
  const std::uint64_t from = pieces[begin].range.offset;
  const std::uint64_t to = pieces[end - 1].range.end();
  if (to - from < bytes) return;
  std::vector<std::uint64_t> cost_before(end - begin + 1, 0);
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint64_t cost = pieces[i].kind == PieceKind::movable ? pieces[i].range.bytes : 0;
    cost_before[i - begin + 1] = cost_before[i - begin] + cost;
  }
  const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = pieces.begin() + static_cast<std::ptrdiff_t>(end);
  const auto add = [&](std::uint64_t start) {
    if (start < from || start > to - bytes) return;
    const auto ends_after = [](std::uint64_t offset, const Piece& piece) { return offset < piece.range.end(); };
    const auto low = std::upper_bound(first, last, start, ends_after) - first;
    const auto high = std::upper_bound(first, last, start + bytes - 1, ends_after) - first;
    windows->push_back({arena,
                        {start, bytes},
                        cost_before[static_cast<std::size_t>(high) + 1] - cost_before[static_cast<std::size_t>(low)]});
  };
  for (auto piece = first; piece != last; ++piece) {
    add(base::round_up(piece->range.offset, alignment));
    if (piece->range.end() >= bytes) add(base::round_down(piece->range.end() - bytes, alignment));
  }
}

// Cheapest first.
std::vector<Window> windows_of(const State& state, std::uint64_t bytes, std::uint64_t alignment, std::uint64_t most) {
  std::vector<Window> windows;
  for (std::size_t arena = 0; arena < state.size(); ++arena) {
    const ArenaPicture& pieces = state[arena];
    for (std::size_t begin = 0; begin < pieces.size(); ++begin) {
      std::size_t end = begin;
      while (end < pieces.size() && pieces[end].kind != PieceKind::fixed) ++end;
      if (end == begin) continue;
      add_windows(pieces, begin, end, bytes, alignment, arena, &windows);
      begin = end;
    }
  }
  std::erase_if(windows, [most](const Window& window) { return window.cost >= most; });
  std::stable_sort(windows.begin(), windows.end(),
                   [](const Window& left, const Window& right) { return left.cost < right.cost; });
  return windows;
}

// The tightest hole, the lowest among equals.
std::optional<Place> tightest_place(const State& state, std::uint64_t bytes, std::uint64_t alignment) {
  std::optional<Place> found;
  std::uint64_t tightest = ~std::uint64_t{0};
  for (std::size_t arena = 0; arena < state.size(); ++arena) {
    for (std::size_t i = 0; i < state[arena].size(); ++i) {
      const Piece& piece = state[arena][i];
      if (piece.kind != PieceKind::hole || piece.range.bytes >= tightest || piece.range.bytes < bytes) continue;
      const std::uint64_t offset = base::round_up(piece.range.offset, alignment);
      if (offset > piece.range.end() - bytes) continue;
      tightest = piece.range.bytes;
      found = Place{arena, i, offset};
    }
  }
  return found;
}

// Takes [offset, offset + bytes) out of a hole.
void fix(ArenaPicture* pieces, std::size_t index, std::uint64_t offset, std::uint64_t bytes) {
  const Piece hole = (*pieces)[index];
  std::vector<Piece> parts;
  if (offset > hole.range.offset) {
    parts.push_back({{hole.range.offset, offset - hole.range.offset}, PieceKind::hole, 0, 0});
  }
  parts.push_back({{offset, bytes}, PieceKind::fixed, 0, 0});
  if (offset + bytes < hole.range.end()) {
    parts.push_back({{offset + bytes, hole.range.end() - offset - bytes}, PieceKind::hole, 0, 0});
  }
  const auto place = pieces->erase(pieces->begin() + static_cast<std::ptrdiff_t>(index));
  pieces->insert(place, parts.begin(), parts.end());
}

// Nothing moves into the window or out of it any more but the blocks returned, largest first.
std::vector<Piece> close_window(ArenaPicture* pieces, const core::Range& window) {
  std::vector<Piece> leaving;
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    Piece& piece = (*pieces)[i];
    if (piece.range.end() <= window.offset || piece.kind == PieceKind::fixed) continue;
    if (piece.range.offset >= window.end()) break;
    if (piece.kind == PieceKind::movable) {
      leaving.push_back(piece);
      piece.kind = PieceKind::fixed;
      continue;
    }
    const std::uint64_t begin = std::max(piece.range.offset, window.offset);
    fix(pieces, i, begin, std::min(piece.range.end(), window.end()) - begin);
  }
  std::stable_sort(leaving.begin(), leaving.end(),
                   [](const Piece& left, const Piece& right) { return left.range.bytes > right.range.bytes; });
  return leaving;
}

class Search {
 public:
  // The cheapest way to empty a window of `state` with less than `most` bytes copied; *after gets what the state is
  // then.
  std::optional<Evacuation> empty_one(const State& state, std::uint64_t bytes, std::uint64_t alignment,
                                      std::size_t level, std::uint64_t most, State* after) {
    std::optional<Evacuation> best;
    const std::vector<Window> windows = windows_of(state, bytes, alignment, most);
    work_ += pieces_of(state);
    for (std::size_t i = 0; i < windows.size() && i < kTries[level]; ++i) {
      if (windows[i].cost >= most || work_ > kMostWork) break;
      State trial = state;
      work_ += pieces_of(state);
      Evacuation plan{windows[i].arena, windows[i].range, {}, 0};
      if (!empty(&trial, level, most, &plan)) continue;
      most = plan.bytes;
      best = std::move(plan);
      *after = std::move(trial);
    }
    return best;
  }

 private:
  // Finds a place for every block of the plan's window.
  bool empty(State* state, std::size_t level, std::uint64_t most, Evacuation* plan) {
    const std::vector<Piece> leaving = close_window(&(*state)[plan->arena], plan->window);
    std::uint64_t to_come = 0;
    for (const Piece& block : leaving) to_come += block.range.bytes;
    for (const Piece& block : leaving) {
      BlockMove move{block.movable, plan->arena, 0, block.range, 0};
      work_ += pieces_of(*state);
      if (const auto place = tightest_place(*state, block.range.bytes, block.alignment)) {
        move.to_arena = place->arena;
        move.to = place->offset;
        fix(&(*state)[place->arena], place->piece, place->offset, block.range.bytes);
      } else if (!empty_for(block, state, level, most - std::min(most, plan->bytes + to_come), plan, &move)) {
        return false;
      }
      plan->moves.push_back(move);
      plan->bytes += block.range.bytes;
      to_come -= block.range.bytes;
      if (plan->bytes + to_come >= most) return false;
    }
    return true;
  }

  // Empties a window of the next level for a block that no hole can hold.
  bool empty_for(const Piece& block, State* state, std::size_t level, std::uint64_t most, Evacuation* plan,
                 BlockMove* move) {
    if (level + 1 == kTries.size()) return false;
    State after;
    auto first = empty_one(*state, block.range.bytes, block.alignment, level + 1, most, &after);
    if (!first) return false;
    *state = std::move(after);
    plan->bytes += first->bytes;
    plan->moves.insert(plan->moves.end(), first->moves.begin(), first->moves.end());
    move->to_arena = first->arena;
    move->to = first->window.offset;
    return true;
  }

  std::uint64_t work_ = 0;
};

}  // namespace

std::optional<Evacuation> plan_evacuation(const std::vector<ArenaPicture>& arenas, std::uint64_t bytes,
                                          std::uint64_t alignment) {
  State after;
  return Search().empty_one(arenas, bytes, alignment, 0, ~std::uint64_t{0}, &after);
}

}  // namespace cistern::compact
