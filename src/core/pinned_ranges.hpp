// PinnedRanges: the parts of an arena whose pages must stay where they are.
//
// Registered memory (RDMA, IPC) is known to others by its physical pages. Registrations may overlap and each is undone
// by itself, so they are kept as given, with their union beside them for queries. They are few and change rarely; what
// is asked often is whether there are any.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace cistern::core {

// Half-open, in granules.
struct GranuleSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool empty() const noexcept { return begin >= end; }
  std::uint64_t length() const noexcept { return end - begin; }
  friend bool operator==(const GranuleSpan&, const GranuleSpan&) = default;
};

class PinnedRanges {
 public:
  void add(GranuleSpan span);
  // False: no such registration.
  bool remove(GranuleSpan span);

  bool empty() const noexcept { return pins_.empty(); }
  bool overlaps(GranuleSpan span) const noexcept;

  // Calls visit(GranuleSpan) for each maximal run of whole pages inside `span` that no registration touches, ascending.
  // `page` is a power of two of granules.
  template <typename Visit>
  void for_each_unpinned_pages(GranuleSpan span, std::uint64_t page, Visit&& visit) const {
    std::uint64_t begin = (span.begin + page - 1) & ~(page - 1);
    const std::uint64_t end = span.end & ~(page - 1);
    for (std::size_t i = first_ending_after(begin); begin < end && i < union_.size(); ++i) {
      if (union_[i].begin >= end) break;
      const std::uint64_t pinned_from = union_[i].begin & ~(page - 1);
      if (begin < pinned_from) visit(GranuleSpan{begin, pinned_from});
      begin = (union_[i].end + page - 1) & ~(page - 1);
    }
    if (begin < end) visit(GranuleSpan{begin, end});
  }

 private:
  std::size_t first_ending_after(std::uint64_t granule) const noexcept;
  void rebuild_union();

  std::vector<GranuleSpan> pins_;   // as registered, ascending, repeats allowed
  std::vector<GranuleSpan> union_;  // disjoint, ascending
};

}  // namespace cistern::core
