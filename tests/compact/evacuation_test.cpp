// The plan of an evacuation: always sound, never dearer than the best of a plain search over all windows, and found
// wherever that search finds one.
#include "compact/evacuation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace cistern::compact {
namespace {

constexpr std::uint64_t kUnit = 512;

// "..AA.#BB": dots are holes, letters movable blocks, # is fixed; a cell is one unit.
ArenaPicture picture_of(const std::string& cells, std::uint64_t alignment = kUnit) {
  ArenaPicture pieces;
  for (std::size_t i = 0; i < cells.size();) {
    std::size_t end = i;
    while (end < cells.size() && cells[end] == cells[i]) ++end;
    const PieceKind kind = cells[i] == '.' ? PieceKind::hole : cells[i] == '#' ? PieceKind::fixed : PieceKind::movable;
    const auto id = kind == PieceKind::movable ? static_cast<pool::MovableId>(cells[i]) : 0;
    pieces.push_back({{i * kUnit, (end - i) * kUnit}, kind, id, kind == PieceKind::movable ? alignment : 0});
    i = end;
  }
  return pieces;
}

// Carries the plan out on cells, complaining of anything that is not as it should be.
void check_sound(std::vector<std::string> arenas, const Evacuation& plan, std::uint64_t bytes,
                 std::uint64_t alignment) {
  std::uint64_t copied = 0;
  for (const BlockMove& move : plan.moves) {
    std::string& from = arenas[move.from_arena];
    std::string& to = arenas[move.to_arena];
    const auto letter = static_cast<char>(move.movable);
    const std::size_t length = move.from.bytes / kUnit;
    ASSERT_EQ(from.substr(move.from.offset / kUnit, length), std::string(length, letter)) << "the whole block";
    ASSERT_EQ(std::count(from.begin(), from.end(), letter), static_cast<std::ptrdiff_t>(length));
    ASSERT_EQ(to.substr(move.to / kUnit, length), std::string(length, '.')) << "into a hole, never onto itself";
    ASSERT_EQ(move.to % alignment, 0U);
    for (std::size_t i = 0; i < length; ++i) to[move.to / kUnit + i] = letter;
    for (std::size_t i = 0; i < length; ++i) from[move.from.offset / kUnit + i] = '.';
    copied += move.from.bytes;
  }
  EXPECT_EQ(copied, plan.bytes);
  EXPECT_EQ(plan.window.bytes, bytes);
  EXPECT_EQ(plan.window.offset % alignment, 0U);
  const std::string window = arenas[plan.arena].substr(plan.window.offset / kUnit, bytes / kUnit);
  EXPECT_EQ(window, std::string(bytes / kUnit, '.'));
}

std::optional<Evacuation> plan_of(const std::vector<std::string>& arenas, std::uint64_t units,
                                  std::uint64_t alignment = kUnit) {
  std::vector<ArenaPicture> pictures;
  for (const std::string& cells : arenas) pictures.push_back(picture_of(cells, alignment));
  auto plan = plan_evacuation(pictures, units * kUnit, alignment);
  if (plan) check_sound(arenas, *plan, units * kUnit, alignment);
  return plan;
}

TEST(Evacuation, TheWindowOfFewestBytes) {
  const auto plan = plan_of({"..AA..B..CCC...D."}, 5);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->bytes, 1 * kUnit) << "B or D goes";
}

TEST(Evacuation, NothingMovesAcrossWhatIsFixed) {
  EXPECT_FALSE(plan_of({"..A#A..#.."}, 4));
  const auto plan = plan_of({"..A..#.."}, 5);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->window.offset, 0U);
}

TEST(Evacuation, AHoleAloneIsAWindow) {
  const auto plan = plan_of({"A...B"}, 3);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->moves.empty());
}

TEST(Evacuation, BlocksGoToOtherArenas) {
  const auto plan = plan_of({"..AAA..", "#...#"}, 7);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->moves[0].to_arena, 1U);
}

TEST(Evacuation, NeverOntoItself) {
  EXPECT_FALSE(plan_of({"..AAAA..."}, 5)) << "sliding A by two would do, and is not done";
}

TEST(Evacuation, ABlockWithoutAPlaceGetsOneMade) {
  // AAAA must go for eight; it fits where B and C leave together with the hole between.
  const auto plan = plan_of({"...AAAA.#BB..CC#..#..#"}, 8);
  ASSERT_TRUE(plan);
  EXPECT_GE(plan->moves.size(), 2U);
}

TEST(Evacuation, Alignment) {
  const auto plan = plan_of({".A....B...#....."}, 4, 4 * kUnit);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->window.offset % (4 * kUnit), 0U);
}

// The least bytes of any window whose blocks, largest first, each go to the tightest hole outside it.
std::optional<std::uint64_t> plain_search(const std::string& cells, std::size_t units) {
  std::optional<std::uint64_t> least;
  for (std::size_t start = 0; start + units <= cells.size(); ++start) {
    std::map<char, std::size_t> blocks;
    bool fixed = false;
    for (std::size_t i = start; i < start + units; ++i) {
      fixed = fixed || cells[i] == '#';
      if (cells[i] != '.') {
        blocks[cells[i]] = static_cast<std::size_t>(std::count(cells.begin(), cells.end(), cells[i]));
      }
    }
    if (fixed) continue;
    std::vector<std::size_t> holes;
    for (std::size_t i = 0, run = 0; i <= cells.size(); ++i) {
      const bool is_hole = i < cells.size() && cells[i] == '.' && (i < start || i >= start + units);
      if (is_hole) ++run;
      if (!is_hole && run != 0) holes.push_back(std::exchange(run, 0));
    }
    std::vector<std::size_t> sizes;
    std::uint64_t bytes = 0;
    for (const auto& [letter, size] : blocks) {
      sizes.push_back(size);
      bytes += size * kUnit;
    }
    std::sort(sizes.rbegin(), sizes.rend());
    const bool all_fit = std::all_of(sizes.begin(), sizes.end(), [&](std::size_t size) {
      auto tightest = holes.end();
      for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
        if (*hole >= size && (tightest == holes.end() || *hole < *tightest)) tightest = hole;
      }
      if (tightest == holes.end()) return false;
      *tightest -= size;
      return true;
    });
    if (all_fit && (!least || bytes < *least)) least = bytes;
  }
  return least;
}

TEST(Evacuation, NeverDearerThanAPlainSearchAndFindsWhatThatFinds) {
  std::mt19937_64 random(20261201);
  std::uint64_t found = 0;
  std::uint64_t found_deeper = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string cells;
    char letter = 'A';
    while (cells.size() < 40 && letter <= 'Z') {
      const std::size_t length = 1 + random() % 5;
      const std::uint64_t kind = random() % 10;
      cells += std::string(length, kind < 5 ? letter++ : kind < 9 ? '.' : '#');
    }
    const std::size_t units = 2 + random() % 12;
    const auto plain = plain_search(cells, units);
    const auto plan = plan_of({cells}, units);
    ASSERT_TRUE(!plain || plan) << cells << " for " << units;
    if (HasFailure()) return;
    if (plain) {
      ++found;
      ASSERT_LE(plan->bytes, *plain) << cells << " for " << units;
    } else if (plan) {
      ++found_deeper;
    }
  }
  EXPECT_GT(found, 500U);
  EXPECT_GT(found_deeper, 20U) << "places that had to be made";
}

}  // namespace
}  // namespace cistern::compact
