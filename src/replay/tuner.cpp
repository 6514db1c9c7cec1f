#include "replay/tuner.hpp"

#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "pool/profiles.hpp"
#include "replay/driver_time.hpp"

namespace cistern::replay {
namespace {

constexpr std::uint64_t kMagazineBytes = 4 * base::kMiB;

bool differs(double left, double right, double tolerance) noexcept {
  return std::abs(left - right) > tolerance * std::min(left, right);
}

ReplayOptions replay_options(const Candidate& candidate, const TuneOptions& options) {
  ReplayOptions replayed;
  replayed.pool = options.base;
  replayed.pool.policy = candidate.policy;
  replayed.pool.growth = candidate.growth;
  replayed.pool.on_miss = candidate.on_miss;
  replayed.pool.page_bytes = candidate.page_bytes;
  replayed.pool.magazine_bytes = candidate.magazine_bytes;
  replayed.pool.compact_actively = candidate.active_interval_ms != 0;
  if (replayed.pool.compact_actively) {
    replayed.pool.compact_interval_ms = candidate.active_interval_ms;
    replayed.pool.compact_threshold = candidate.active_threshold;
  }
  replayed.compaction = candidate.movable ? Compaction::all : Compaction::stitch;
  replayed.capacity_bytes = options.capacity_bytes;
  replayed.capacity_over_peak = options.capacity_over_peak;
  replayed.passes = options.passes;
  return replayed;
}

base::Result<Tried> try_out(const Candidate& candidate, const std::vector<TraceData>& traces,
                            const TuneOptions& options) {
  Tried tried;
  tried.candidate = candidate;
  const ReplayOptions replayed = replay_options(candidate, options);
  double log_overhead = 0;
  double log_ns = 0;
  double driver_ns = 0;
  double background_ns = 0;
  double pairs = 0;
  for (const TraceData& trace : traces) {
    auto report = replay(trace, replayed);
    if (!report.is_ok()) return report.take_status();
    const ReplayReport& found = report.value();
    tried.failed += found.failed;
    tried.worst_overhead = std::max(tried.worst_overhead, found.overhead());
    log_overhead += std::log(std::max(1.0, found.overhead()));
    if (found.times) log_ns += std::log(std::max(0.1, found.times->net_steady_ns()));
    const double thread_ns = found.active ? found.active->driver_ns : 0;
    driver_ns += modelled_driver_ns(found.calls) - thread_ns;
    background_ns += thread_ns;
    pairs += static_cast<double>(found.allocations);
    if (options.on_progress) options.on_progress();
  }
  const auto count = static_cast<double>(traces.size());
  tried.overhead = std::exp(log_overhead / count);
  tried.bookkeeping_ns = options.passes == 0 ? 0 : std::exp(log_ns / count);
  tried.driver_ns = driver_ns / std::max(1.0, pairs);
  tried.background_ns = background_ns / std::max(1.0, pairs);
  return tried;
}

// By the goal's figure; then those as good as the best, by the other one.
void rank(Goal goal, std::vector<Tried>* tried) {
  const auto memory = [](const Tried& each) { return each.overhead; };
  const auto time = [](const Tried& each) { return each.pair_ns(); };
  const auto by = [tried](const auto& figure, auto end) {
    std::stable_sort(tried->begin(), end, [&](const Tried& left, const Tried& right) {
      if (left.failed != right.failed) return left.failed < right.failed;
      return figure(left) < figure(right);
    });
  };
  const auto rank_by = [&](const auto& first, const auto& second, double tolerance) {
    by(first, tried->end());
    const Tried best = tried->front();
    const auto as_good = std::find_if(tried->begin(), tried->end(), [&](const Tried& each) {
      return each.failed != best.failed || differs(first(each), first(best), tolerance);
    });
    by(second, as_good);
  };
  if (goal == Goal::memory) {
    rank_by(memory, time, kSameMemory);
  } else {
    rank_by(time, memory, kSameTime);
  }
}

}  // namespace

Candidate candidate_of(const pool::Profile& profile) {
  base::OptionSet set;
  (void)set.set("CISTERN_PROFILE", profile.name, "tuner");  // a name of the table
  const pool::PoolOptions options = pool::pool_options_from(set).take();
  Candidate candidate;
  candidate.policy = options.policy;
  candidate.growth = options.growth;
  candidate.on_miss = options.on_miss;
  candidate.page_bytes = options.page_bytes;
  candidate.magazine_bytes = options.magazine_bytes;
  if (options.compact_actively) {
    candidate.active_interval_ms = options.compact_interval_ms;
    candidate.active_threshold = options.compact_threshold;
  }
  candidate.profile = profile.name;
  return candidate;
}

std::vector<Candidate> sweep(const TuneOptions& options) {
  const bool is_limited = options.capacity_bytes != 0 || options.capacity_over_peak > 0;
  std::vector<Candidate> all;
  for (const pool::Profile& profile : pool::profiles()) all.push_back(candidate_of(profile));
  const auto add = [&all](const Candidate& candidate) {
    const bool is_known = std::any_of(all.begin(), all.end(), [&](Candidate known) {
      known.profile.clear();
      return known == candidate;
    });
    if (!is_known) all.push_back(candidate);
  };
  for (const auto policy : {core::FitPolicy::best_fit, core::FitPolicy::first_fit}) {
    for (const auto on_miss : {pool::OnMiss::stitch_first, pool::OnMiss::grow_first}) {
      for (const std::uint64_t page : {std::uint64_t{0}, 64 * base::kKiB, 512 * base::kKiB, 2 * base::kMiB}) {
        for (const std::uint64_t magazine : {std::uint64_t{0}, kMagazineBytes}) {
          add({.policy = policy, .on_miss = on_miss, .page_bytes = page, .magazine_bytes = magazine});
        }
      }
      // The thread at the articles' threshold, at the lower one that they give for large models, and by exposure alone.
      for (const double threshold : {0.3, 0.2, 1.0}) {
        add({.policy = policy, .on_miss = on_miss, .active_interval_ms = 1000, .active_threshold = threshold});
      }
    }
    add({.policy = policy, .growth = pool::Growth::arenas});
    if (!is_limited) continue;
    add({.policy = policy, .movable = true});
    add({.policy = policy, .growth = pool::Growth::arenas, .movable = true});
  }
  return all;
}

base::Result<std::vector<Tried>> tune(const std::vector<TraceData>& traces, const TuneOptions& options) {
  std::vector<Tried> tried;
  for (const Candidate& candidate : options.candidates.empty() ? sweep(options) : options.candidates) {
    auto one = try_out(candidate, traces, options);
    if (!one.is_ok()) return one.take_status();
    tried.push_back(one.take());
  }
  if (!tried.empty()) rank(options.goal, &tried);
  return tried;
}

Difference difference(const Tried& left, const Tried& right) noexcept {
  const bool memory = left.failed != right.failed || differs(left.overhead, right.overhead, kSameMemory);
  const bool time = differs(left.pair_ns(), right.pair_ns(), kSameTime);
  if (memory && time) return Difference::both;
  return memory ? Difference::memory : time ? Difference::time : Difference::none;
}

}  // namespace cistern::replay
