#include "trace/event_log.hpp"

#include "base/clock.hpp"
#include "base/ticks.hpp"

namespace cistern::trace {

ClockPair read_clocks() noexcept { return {base::read_ticks(), base::SteadyClock().now_ns()}; }

std::uint64_t ticks_to_ns(std::uint64_t ticks, const ClockPair& first, const ClockPair& second) noexcept {
  if (second.ticks <= first.ticks || second.ns < first.ns) return first.ns;
  const double slope = static_cast<double>(second.ns - first.ns) / static_cast<double>(second.ticks - first.ticks);
  const double passed = static_cast<double>(static_cast<std::int64_t>(ticks - first.ticks)) * slope;
  // Only a damaged file has such ticks; a number out of range must not be converted.
  if (!(passed > -9e18 && passed < 9e18) || static_cast<double>(first.ns) + passed < 0) return first.ns;
  return first.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(passed));
}

}  // namespace cistern::trace
