#include "core/bucket_index.hpp"

namespace cistern::core {

bool BucketIndex::bitmaps_match_lists() const noexcept {
  for (Bucket row = 0; row < kRows; ++row) {
    std::uint32_t expected = 0;
    for (Bucket column = 0; column < 32; ++column) {
      if (heads_[(row << 5) + column] != kNoBlock) expected |= std::uint32_t{1} << column;
    }
    if (columns_[row] != expected) return false;
    if (((rows_ >> row) & 1) != (expected != 0 ? 1U : 0U)) return false;
  }
  return rows_ >> kRows == 0;
}

}  // namespace cistern::core
