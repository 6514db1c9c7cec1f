#include "capi/pool_settings.hpp"

#include <unistd.h>

#include <string>
#include <string_view>

#include "base/options.hpp"
#include "trace/process_trace.hpp"

namespace cistern::capi {
namespace {

// The C interface keeps 0 for "default", so each of its numbers is ours plus one.
template <typename Enum>
base::Status read_choice(std::uint32_t given, std::uint32_t highest, std::string_view name, Enum* choice) {
  if (given > highest) {
    return base::invalid_argument(std::string(name) + " = " + std::to_string(given) + " is not one of 0 to " +
                                  std::to_string(highest));
  }
  if (given != 0) *choice = static_cast<Enum>(given - 1);
  return {};
}

template <typename Enum>
constexpr bool is_next(std::uint32_t c_number, Enum choice) {
  return c_number == static_cast<std::uint32_t>(choice) + 1;
}
static_assert(is_next(CISTERN_POLICY_BEST_FIT, core::FitPolicy::best_fit));
static_assert(is_next(CISTERN_POLICY_FIRST_FIT, core::FitPolicy::first_fit));
static_assert(is_next(CISTERN_POLICY_EXACT_BEST_FIT, core::FitPolicy::exact_best_fit));
static_assert(is_next(CISTERN_GROWTH_EXPANDABLE, pool::Growth::expandable));
static_assert(is_next(CISTERN_GROWTH_ARENAS, pool::Growth::arenas));
static_assert(is_next(CISTERN_ON_MISS_GROW_FIRST, pool::OnMiss::grow_first));
static_assert(is_next(CISTERN_ON_MISS_STITCH_FIRST, pool::OnMiss::stitch_first));

base::Status read_compaction(const cistern_pool_options_t& given, pool::PoolOptions* options) {
  if (given.compaction > CISTERN_COMPACTION_ACTIVE) {
    return base::invalid_argument("compaction = " + std::to_string(given.compaction) + " is not one of 0 to " +
                                  std::to_string(CISTERN_COMPACTION_ACTIVE));
  }
  if (!(given.compact_threshold >= 0 && given.compact_threshold <= 1)) {
    return base::invalid_argument("compact_threshold = " + std::to_string(given.compact_threshold) +
                                  " is not between 0 and 1");
  }
  options->compact_actively = given.compaction == CISTERN_COMPACTION_ACTIVE;
  if (given.compact_interval_ms != 0) options->compact_interval_ms = given.compact_interval_ms;
  if (given.compact_threshold != 0) options->compact_threshold = given.compact_threshold;
  if (given.compact_max_blocks != 0) options->compact_max_blocks = given.compact_max_blocks;
  if (given.compact_step_us != 0) options->step_us = given.compact_step_us;
  return {};
}

}  // namespace

base::Result<pool::PoolOptions> pool_options_from_c(const cistern_pool_options_t& given) {
  pool::PoolOptions options;
  base::Status wrong = read_choice(given.policy, CISTERN_POLICY_EXACT_BEST_FIT, "policy", &options.policy);
  if (wrong.is_ok()) wrong = read_choice(given.growth, CISTERN_GROWTH_ARENAS, "growth", &options.growth);
  if (wrong.is_ok()) wrong = read_choice(given.on_miss, CISTERN_ON_MISS_STITCH_FIRST, "on_miss", &options.on_miss);
  if (!wrong.is_ok()) return wrong;
  options.growth_is_required = given.growth == CISTERN_GROWTH_EXPANDABLE;
  if (given.name != nullptr) options.name = given.name;
  options.initial_bytes = given.initial_bytes;
  options.limit_bytes = given.limit_bytes;
  options.minimum_bytes = given.minimum_bytes;
  options.red_zone_bytes = given.red_zone_bytes;
  options.page_bytes = given.page_bytes;
  if (given.round_bytes != 0) options.round_bytes = given.round_bytes;
  options.growth_bytes = given.growth_bytes;
  if (given.max_growth_bytes != 0) options.max_growth_bytes = given.max_growth_bytes;
  options.direct_bytes = given.direct_bytes;
  options.magazine_bytes = given.magazine_bytes;
  if (given.stream_waits > 1 || given.quarantine > 1) {
    return base::invalid_argument("stream_waits and quarantine are 0 or 1");
  }
  options.stream_waits = given.stream_waits != 0;
  options.quarantine = given.quarantine != 0;
  wrong = read_compaction(given, &options);
  if (!wrong.is_ok()) return wrong;
  return options;
}

base::Result<pool::PoolOptions> pool_options_from_environment() {
  auto set = base::OptionSet::from_environment(environ);
  if (!set.is_ok()) return set.take_status();
  return pool::pool_options_from(set.value());
}

std::shared_ptr<pool::Observer> observer_from_environment(const pool::PoolOptions& options,
                                                          const device::DeviceInfo& device) {
  const auto set = base::OptionSet::from_environment(environ);
  if (!set.is_ok()) return nullptr;
  return trace::observe_by_options(set.value(), options.name, device.kind + ":" + std::to_string(device.ordinal));
}

cistern_pool_options_t pool_options_to_c(const pool::PoolOptions& options) noexcept {
  cistern_pool_options_t out{};
  out.policy = static_cast<std::uint32_t>(options.policy) + 1;
  const bool may_fall_back = options.growth == pool::Growth::expandable && !options.growth_is_required;
  out.growth = may_fall_back ? std::uint32_t{CISTERN_GROWTH_DEFAULT} : static_cast<std::uint32_t>(options.growth) + 1;
  out.on_miss = static_cast<std::uint32_t>(options.on_miss) + 1;
  out.initial_bytes = options.initial_bytes;
  out.limit_bytes = options.limit_bytes;
  out.minimum_bytes = options.minimum_bytes;
  out.red_zone_bytes = options.red_zone_bytes;
  out.page_bytes = options.page_bytes;
  out.round_bytes = options.round_bytes;
  out.growth_bytes = options.growth_bytes;
  out.max_growth_bytes = options.max_growth_bytes;
  out.direct_bytes = options.direct_bytes;
  out.magazine_bytes = options.magazine_bytes;
  out.stream_waits = options.stream_waits ? 1 : 0;
  out.quarantine = options.quarantine ? 1 : 0;
  out.compaction = options.compact_actively ? CISTERN_COMPACTION_ACTIVE : CISTERN_COMPACTION_OFF;
  out.compact_interval_ms = static_cast<std::uint32_t>(options.compact_interval_ms);
  out.compact_threshold = options.compact_threshold;
  out.compact_max_blocks = options.compact_max_blocks;
  out.compact_step_us = options.step_us;
  return out;
}

std::uint64_t page_bytes_for(const pool::PoolOptions& options, const device::DeviceInfo& device,
                             std::uint64_t shared_page_bytes) noexcept {
  if (options.growth != pool::Growth::expandable || !device.capabilities.pages) return 0;
  if (options.page_bytes != 0) return options.page_bytes;
  if (shared_page_bytes != 0) return shared_page_bytes;
  if (options.minimum_bytes != 0) return pool::choose_page_bytes(device.total_bytes, device);
  return pool::choose_page_bytes(options.limit_bytes == 0 ? device.total_bytes : options.limit_bytes, device);
}

}  // namespace cistern::capi
