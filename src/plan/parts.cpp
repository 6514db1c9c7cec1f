#include "plan/parts.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace cistern::plan {
namespace {

constexpr unsigned kDeepest = 64;  // pieces within pieces: a stack of n tensors would have n levels

using Members = std::vector<std::uint32_t>;

struct Piece {
  Members members;  // sorted as a part's
  std::uint64_t base = 0;
  unsigned depth = 0;
};

class Cutter {
 public:
  explicit Cutter(const std::vector<Item>& items) : items_(items) { cut_.offsets.assign(items.size(), kInPart); }

  Cut run() {
    Members all(items_.size());
    std::iota(all.begin(), all.end(), 0U);
    std::sort(all.begin(), all.end(), [this](std::uint32_t a, std::uint32_t b) {
      return std::tie(items_[a].lower, items_[a].upper, items_[a].bytes, a) <
             std::tie(items_[b].lower, items_[b].upper, items_[b].bytes, b);
    });
    waiting_.push_back({std::move(all), 0, 0});
    while (!waiting_.empty()) {
      Piece piece = std::move(waiting_.back());
      waiting_.pop_back();
      divide(std::move(piece));
    }
    return std::move(cut_);
  }

 private:
  // Puts what lives through all of the piece's time at its bottom, and cuts the rest where nothing is live.
  void divide(Piece piece) {
    if (piece.members.empty()) return;
    const std::size_t before = piece.members.size();
    lower_spanning(&piece);
    std::vector<std::size_t> ends;  // of groups, as places in members
    std::uint32_t reach = 0;
    for (std::size_t i = 0; i < piece.members.size(); ++i) {
      const Item& item = items_[piece.members[i]];
      if (i > 0 && item.lower >= reach) ends.push_back(i);
      reach = std::max(reach, item.upper);
    }
    if (ends.empty() && (piece.members.size() == before || piece.depth == kDeepest)) {
      if (!piece.members.empty()) add_part(std::move(piece));
      return;
    }
    ends.push_back(piece.members.size());
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      Piece next{Members(piece.members.begin() + static_cast<std::ptrdiff_t>(begin),
                         piece.members.begin() + static_cast<std::ptrdiff_t>(end)),
                 piece.base, piece.depth + 1};
      begin = end;
      if (next.depth > kDeepest) {
        if (!next.members.empty()) add_part(std::move(next));
      } else {
        waiting_.push_back(std::move(next));
      }
    }
  }

  void lower_spanning(Piece* piece) {
    const std::uint32_t lower = items_[piece->members.front()].lower;
    std::uint32_t upper = 0;
    for (const std::uint32_t member : piece->members) upper = std::max(upper, items_[member].upper);
    const auto spans = [&](std::uint32_t member) {
      return items_[member].lower == lower && items_[member].upper == upper;
    };
    for (const std::uint32_t member : piece->members) {
      if (!spans(member)) continue;
      cut_.offsets[member] = piece->base;
      piece->base += items_[member].bytes;
    }
    cut_.top = std::max(cut_.top, piece->base);
    piece->members.erase(std::remove_if(piece->members.begin(), piece->members.end(), spans), piece->members.end());
  }

  void add_part(Piece piece) {
    Part part;
    part.base = piece.base;
    const std::uint32_t first = items_[piece.members.front()].lower;
    part.items.reserve(piece.members.size());
    for (const std::uint32_t member : piece.members) {
      const Item& item = items_[member];
      part.items.push_back({item.lower - first, item.upper - first, item.bytes});
      part.sections = std::max(part.sections, item.upper - first);
    }
    part.peak_bytes = peak_bytes(part.items);
    part.members = std::move(piece.members);
    cut_.parts.push_back(std::move(part));
  }

  const std::vector<Item>& items_;
  Cut cut_;
  std::vector<Piece> waiting_;
};

}  // namespace

Cut cut_into_parts(const std::vector<Item>& items) { return Cutter(items).run(); }

}  // namespace cistern::plan
