#include "device/map_count_guard.hpp"

#include <cerrno>
#include <string>

namespace cistern::device {

namespace {

// After a refusal this many more are given without a count of all mappings, which takes milliseconds at the limit.
constexpr std::uint64_t kRefusalsPerCount = 256;
constexpr std::uint64_t kUncounted = ~std::uint64_t{0} / 2;  // more than any limit: the first call counts

}  // namespace

MapCountGuard::MapCountGuard(HostSystem& system, std::uint64_t limit, std::uint64_t headroom) noexcept
    : system_(system),
      limit_(limit == 0 ? system.max_map_count() : limit),
      headroom_(headroom),
      estimate_(kUncounted) {}

base::Status MapCountGuard::check(std::uint64_t mappings) noexcept {
  // A count that leaves next to nothing would have to be repeated at once, so after one a quarter of the head-room must
  // be left; and who was refused once is refused by the same measure until something has gone.
  const std::uint64_t margin = headroom_ / 4;
  if (refusals_left_ == 0) {
    if (estimate_ + mappings + headroom_ <= limit_) return {};
    estimate_ = system_.map_count();
    if (estimate_ + mappings + headroom_ + margin <= limit_) return {};
    refusals_left_ = kRefusalsPerCount;
  } else if (estimate_ + mappings + headroom_ + margin <= limit_) {
    return {};
  }
  --refusals_left_;
  return base::Status(base::StatusCode::out_of_memory,
                      "this process has about " + std::to_string(estimate_) +
                          " memory mappings and the kernel allows " + std::to_string(limit_) + ", of which " +
                          std::to_string(headroom_) +
                          " are kept free; use larger pages, or raise vm.max_map_count (sysctl)",
                      ENOMEM);
}

base::Status MapCountGuard::admit(std::uint64_t mappings) noexcept {
  base::Status status = check(mappings);
  if (status.is_ok()) estimate_ += mappings;
  return status;
}

}  // namespace cistern::device
