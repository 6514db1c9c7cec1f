#include "pool/options.hpp"

#include <algorithm>
#include <cctype>

#include "base/bits.hpp"
#include "base/units.hpp"
#include "pool/profiles.hpp"

namespace cistern::pool {
namespace {

// The three enumerations are written alike everywhere: lower case with underscores out, any case in.
template <typename Enum>
struct Choice {
  Enum value;
  std::string_view name;
};

constexpr Choice<core::FitPolicy> kPolicies[] = {{core::FitPolicy::best_fit, "best_fit"},
                                                 {core::FitPolicy::first_fit, "first_fit"},
                                                 {core::FitPolicy::exact_best_fit, "exact_best_fit"}};
constexpr Choice<Growth> kGrowths[] = {{Growth::expandable, "expandable"}, {Growth::arenas, "arenas"}};
constexpr Choice<OnMiss> kOnMisses[] = {{OnMiss::grow_first, "grow_first"}, {OnMiss::stitch_first, "stitch_first"}};

bool equal_ignoring_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  });
}

template <typename Enum, std::size_t N>
std::string_view name_in(const Choice<Enum> (&choices)[N], Enum value) noexcept {
  for (const auto& choice : choices) {
    if (choice.value == value) return choice.name;
  }
  return "unknown";
}

template <typename Enum, std::size_t N>
base::Result<Enum> parse_in(const Choice<Enum> (&choices)[N], std::string_view what, std::string_view text) {
  std::string known;
  for (const auto& choice : choices) {
    if (equal_ignoring_case(choice.name, text)) return choice.value;
    known += (known.empty() ? "" : ", ") + std::string(choice.name);
  }
  return base::invalid_argument("unknown " + std::string(what) + " '" + std::string(text) + "'; use one of " + known);
}

}  // namespace

std::string_view policy_name(core::FitPolicy policy) noexcept { return name_in(kPolicies, policy); }
std::string_view growth_name(Growth growth) noexcept { return name_in(kGrowths, growth); }
std::string_view on_miss_name(OnMiss on_miss) noexcept { return name_in(kOnMisses, on_miss); }

base::Result<core::FitPolicy> parse_policy(std::string_view text) { return parse_in(kPolicies, "policy", text); }
base::Result<Growth> parse_growth(std::string_view text) { return parse_in(kGrowths, "growth", text); }
base::Result<OnMiss> parse_on_miss(std::string_view text) { return parse_in(kOnMisses, "on_miss", text); }

base::Result<PoolOptions> pool_options_from(const base::OptionSet& given) {
  const base::OptionSet set = with_profile(given);
  PoolOptions options;
  auto policy = parse_policy(set.text("CISTERN_POLICY"));
  if (!policy.is_ok()) return policy.take_status();
  options.policy = policy.value();
  auto growth = parse_growth(set.text("CISTERN_GROWTH"));
  if (!growth.is_ok()) return growth.take_status();
  options.growth = growth.value();
  options.growth_is_required = set.is_set("CISTERN_GROWTH");
  auto on_miss = parse_on_miss(set.text("CISTERN_ON_MISS"));
  if (!on_miss.is_ok()) return on_miss.take_status();
  options.on_miss = on_miss.value();
  options.initial_bytes = set.bytes("CISTERN_INITIAL_BYTES");
  options.minimum_bytes = set.bytes("CISTERN_MINIMUM_BYTES");
  options.limit_bytes = set.bytes("CISTERN_LIMIT_BYTES");
  options.page_bytes = set.bytes("CISTERN_PAGE_BYTES");
  options.round_bytes = set.bytes("CISTERN_ROUND_BYTES");
  options.growth_bytes = set.bytes("CISTERN_GROWTH_BYTES");
  options.max_growth_bytes = set.bytes("CISTERN_MAX_GROWTH_BYTES");
  options.slack_percent = static_cast<std::uint64_t>(set.integer("CISTERN_SLACK_PERCENT"));
  options.magazine_bytes = set.bytes("CISTERN_MAGAZINE_BYTES");
  options.direct_bytes = set.bytes("CISTERN_DIRECT_BYTES");
  options.stream_waits = set.flag("CISTERN_STREAM_WAITS");
  options.quarantine = set.flag("CISTERN_QUARANTINE");
  options.red_zone_bytes = set.bytes("CISTERN_RED_ZONE_BYTES");
  options.step_us = static_cast<std::uint64_t>(set.integer("CISTERN_COMPACT_STEP_US"));
  options.compact_interval_ms = static_cast<std::uint64_t>(set.integer("CISTERN_COMPACT_INTERVAL_MS"));
  options.compact_threshold = set.real("CISTERN_COMPACT_THRESHOLD");
  options.compact_max_blocks = static_cast<std::uint64_t>(set.integer("CISTERN_COMPACT_MAX_BLOCKS"));
  // Who says when wants it, unless he says no.
  const bool implied = set.is_set("CISTERN_COMPACT_INTERVAL_MS") || set.is_set("CISTERN_COMPACT_THRESHOLD");
  options.compact_actively = set.is_set("CISTERN_COMPACT") ? set.flag("CISTERN_COMPACT") : implied;
  return options;
}

std::uint64_t choose_page_bytes(std::uint64_t limit_bytes, const device::DeviceInfo& device) noexcept {
  const std::uint64_t thousandth = std::bit_floor(std::max(limit_bytes / 1024, std::uint64_t{1}));
  const std::uint64_t wanted = std::clamp(thousandth, 64 * base::kKiB, 2 * base::kMiB);
  return std::clamp(wanted, device.min_page_bytes, device.max_page_bytes);
}

}  // namespace cistern::pool
