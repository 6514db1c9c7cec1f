// What can be chosen about a pool of cistern.hpp, with the meanings and defaults of cistern_pool_options.
#pragma once

#include <cstdint>
#include <string>

#include "cistern/cistern.h"
#include "cistern/outcome.hpp"

namespace cistern {

enum class Policy : std::uint32_t {
  by_default = CISTERN_POLICY_DEFAULT,
  best_fit = CISTERN_POLICY_BEST_FIT,
  first_fit = CISTERN_POLICY_FIRST_FIT,
  exact_best_fit = CISTERN_POLICY_EXACT_BEST_FIT,
};
enum class Growth : std::uint32_t {
  by_default = CISTERN_GROWTH_DEFAULT,
  expandable = CISTERN_GROWTH_EXPANDABLE,
  arenas = CISTERN_GROWTH_ARENAS,
};
enum class OnMiss : std::uint32_t {
  by_default = CISTERN_ON_MISS_DEFAULT,
  grow_first = CISTERN_ON_MISS_GROW_FIRST,
  stitch_first = CISTERN_ON_MISS_STITCH_FIRST,
};
enum class CompactionMode : std::uint32_t {
  by_default = CISTERN_COMPACTION_DEFAULT,
  off = CISTERN_COMPACTION_OFF,
  active = CISTERN_COMPACTION_ACTIVE,
};
enum class Lifetime : std::uint32_t {
  transient = CISTERN_LIFETIME_TRANSIENT,
  persistent = CISTERN_LIFETIME_PERSISTENT,
  weights = CISTERN_LIFETIME_WEIGHTS,
};

// See cistern_pool_options; 0 is each field's default.
struct PoolOptions {
  std::string name = "pool";
  Policy policy = Policy::by_default;
  Growth growth = Growth::by_default;
  OnMiss on_miss = OnMiss::by_default;
  std::uint64_t initial_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t round_bytes = 0;
  std::uint64_t growth_bytes = 0;
  std::uint64_t max_growth_bytes = 0;
  std::uint64_t direct_bytes = 0;
  std::uint64_t magazine_bytes = 0;
  bool stream_waits = false;
  bool quarantine = false;
  CompactionMode compaction = CompactionMode::by_default;
  std::uint32_t compact_interval_ms = 0;
  double compact_threshold = 0;
  std::uint64_t compact_max_blocks = 0;
  std::uint64_t compact_step_us = 0;
  std::uint64_t minimum_bytes = 0;
  std::uint64_t red_zone_bytes = 0;

  // Defaults, and what the CISTERN_* variables set.
  static Result<PoolOptions> try_from_environment() {
    cistern_pool_options_t from{};
    from.struct_size = sizeof from;
    Status status = Status::of(cistern_pool_options_from_environment(&from));
    if (!status.ok()) return status;
    PoolOptions options;
    options.policy = static_cast<Policy>(from.policy);
    options.growth = static_cast<Growth>(from.growth);
    options.on_miss = static_cast<OnMiss>(from.on_miss);
    options.initial_bytes = from.initial_bytes;
    options.limit_bytes = from.limit_bytes;
    options.page_bytes = from.page_bytes;
    options.round_bytes = from.round_bytes;
    options.growth_bytes = from.growth_bytes;
    options.max_growth_bytes = from.max_growth_bytes;
    options.direct_bytes = from.direct_bytes;
    options.magazine_bytes = from.magazine_bytes;
    options.stream_waits = from.stream_waits != 0;
    options.quarantine = from.quarantine != 0;
    options.compaction = static_cast<CompactionMode>(from.compaction);
    options.compact_interval_ms = from.compact_interval_ms;
    options.compact_threshold = from.compact_threshold;
    options.compact_max_blocks = from.compact_max_blocks;
    options.compact_step_us = from.compact_step_us;
    options.minimum_bytes = from.minimum_bytes;
    options.red_zone_bytes = from.red_zone_bytes;
    return options;
  }
#if CISTERN_HAS_EXCEPTIONS
  static PoolOptions from_environment() { return try_from_environment().value(); }
#endif
};

}  // namespace cistern
