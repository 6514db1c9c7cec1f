#include "cli/replay_figures.hpp"

#include <string_view>

#include "cli/ui/numbers.hpp"
#include "replay/memory_way.hpp"

namespace cistern::cli {
namespace {

using replay::PlaySpread;
using replay::ReplayOptions;
using replay::ReplayReport;
using replay::ReplayTimes;
using replay::Spread;

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

void add_memory(Figures* figures, const ReplayReport& report) {
  figures->push_back({"peak_live_bytes", report.peak_live_bytes});
  figures->push_back({"peak_reserved_bytes", report.ledger.peak_reserved_bytes});
  figures->push_back({"reserved_over_live", report.overhead()});
  figures->push_back({"page_bytes", report.page_bytes});
  figures->push_back({"magazine_hit_rate", report.magazine_hit_rate()});
  figures->push_back({"misses", report.ledger.misses});
  figures->push_back({"growths", report.ledger.growths});
  figures->push_back({"stitches", report.ledger.stitches});
  figures->push_back({"stitched_pages", report.ledger.stitched_pages});
  figures->push_back({"moves", report.ledger.moves});
  figures->push_back({"moved_bytes", report.ledger.moved_bytes});
  figures->push_back({"compaction_steps", report.compaction.steps});
  figures->push_back({"served_by_compaction", report.compaction.served});
  figures->push_back({"step_ns_p50", report.compaction.pauses.quantile_ns(0.5)});
  figures->push_back({"step_ns_p99", report.compaction.pauses.quantile_ns(0.99)});
  figures->push_back({"longest_step_ns", report.compaction.pauses.longest_ns});
  figures->push_back({"longest_step_modelled_ns", report.compaction.longest_modelled_ns});
  figures->push_back({"longest_step_bytes", report.compaction.most_bytes});
  const std::optional<replay::ActiveCompaction>& active = report.active;
  const auto add_active = [&](const char* name, auto field) {
    figures->push_back({name, {}});
    if (active) figures->back().value = (*active).*field;
  };
  add_active("active_looks", &replay::ActiveCompaction::looks);
  add_active("active_postponed", &replay::ActiveCompaction::postponed);
  add_active("active_passes", &replay::ActiveCompaction::passes);
  add_active("active_compacted_bytes", &replay::ActiveCompaction::compacted_bytes);
  add_active("active_driver_ns_modelled", &replay::ActiveCompaction::driver_ns);
  figures->push_back({"requests_above_threshold", report.triggers.above_threshold});
  figures->push_back({"requests_exposed", report.triggers.exposed});
  figures->push_back({"requests_blocked", report.triggers.blocked});
  figures->push_back({"blocked_above_threshold", report.triggers.blocked_above_threshold});
  figures->push_back({"blocked_exposed", report.triggers.blocked_exposed});
  figures->push_back({"driver_calls", replay::driver_calls(report.calls)});
  figures->push_back({"driver_allocations", report.calls.driver_allocations()});
  figures->push_back({"maps", maps_of(report)});
  figures->push_back({"modelled_driver_ns", report.calls.modelled_ns});
  figures->push_back({"sampled_every_events", report.fragmentation.every_events});
  figures->push_back({"fragmentation_rate_mean", report.fragmentation.mean_rate});
  figures->push_back({"fragmentation_rate_max", report.fragmentation.max_rate});
  figures->push_back({"exposure_mean", report.fragmentation.mean_exposure});
  figures->push_back({"exposure_max", report.fragmentation.max_exposure});
  figures->push_back({"stitchable_share_mean", report.fragmentation.mean_stitchable_share});
}

// Figures whose names begin so are one object of the JSON: null where the first of them is.
constexpr std::string_view kObjects[] = {"first_failure.", "first_damage."};

void add_failures(Figures* figures, const ReplayReport& report) {
  figures->push_back({"failed_events", report.failed});
  const auto add = [&](const char* name, auto field) {
    figures->push_back({name, {}});
    if (report.first_failure) figures->back().value = std::uint64_t{(*report.first_failure).*field};
  };
  add("first_failure.event", &replay::FailedEvent::index);
  add("first_failure.time_ns", &replay::FailedEvent::time_ns);
  add("first_failure.bytes", &replay::FailedEvent::bytes);
  add("first_failure.stream", &replay::FailedEvent::stream);
  add("first_failure.largest_free_bytes", &replay::FailedEvent::largest_free_bytes);
  add("first_failure.free_bytes", &replay::FailedEvent::free_bytes);
  add("first_failure.reserved_bytes", &replay::FailedEvent::reserved_bytes);
  for (const bool damaged : {false, true}) {
    figures->push_back({damaged ? "damaged_blocks" : "checked_blocks", {}});
    if (report.check) figures->back().value = damaged ? report.check->damaged : report.check->blocks;
  }
  for (const char* name : {"event", "bytes", "offset", "expected", "found"}) {
    figures->push_back({"first_damage." + std::string(name), {}});
  }
  if (!report.check || !report.check->first) return;
  const replay::DamagedBlock& first = *report.check->first;
  Figure* const damage = &*(figures->end() - 5);
  damage[0].value = first.index;
  damage[1].value = first.bytes;
  damage[2].value = first.offset;
  damage[3].value = hexadecimal(first.expected);
  damage[4].value = hexadecimal(first.found);
}

void add_spread(Figures* figures, const std::string& name, const Spread* spread) {
  const auto add = [&](const char* what, auto field) {
    figures->push_back({name + what, {}});
    if (spread != nullptr) figures->back().value = spread->*field;
  };
  add("_operations", &Spread::operations);
  add("_ns_mean", &Spread::mean_ns);
  add("_ns_p50", &Spread::p50_ns);
  add("_ns_p99", &Spread::p99_ns);
  add("_ns_p999", &Spread::p999_ns);
  add("_ns_max", &Spread::max_ns);
}

void add_play(Figures* figures, const std::string& name, const PlaySpread* play) {
  figures->push_back({name + "_hit_pair_ns", {}});
  if (play != nullptr) figures->back().value = play->hit_pair_ns();
  add_spread(figures, name + "_allocate", play != nullptr ? &play->allocations : nullptr);
  add_spread(figures, name + "_free", play != nullptr ? &play->frees : nullptr);
  add_spread(figures, name + "_driver", play != nullptr ? &play->driver : nullptr);
}

void add_times(Figures* figures, const std::optional<ReplayTimes>& times) {
  const auto add = [&](const char* name, double value) {
    figures->push_back({name, {}});
    if (times) figures->back().value = value;
  };
  const ReplayTimes known = times.value_or(ReplayTimes{});
  add("ns_per_pair", known.net_ns());
  add("ns_per_pair_gross", known.first_ns);
  add("steady_ns_per_pair", known.net_steady_ns());
  add("steady_ns_per_pair_gross", known.steady_ns);
  figures->push_back({"p999_ns", {}});
  if (times) figures->back().value = times->first.p999_ns;
  add("loop_ns_per_pair", known.loop_ns);
  add("events_per_second", known.events_per_second());
  add_play(figures, "growing", times ? &times->first : nullptr);
  add_play(figures, "steady", times ? &times->steady : nullptr);
}

void write_value(base::JsonWriter* json, const Figure& figure) {
  if (const auto* number = std::get_if<std::uint64_t>(&figure.value)) {
    json->value(*number);
  } else if (const auto* real = std::get_if<double>(&figure.value)) {
    json->value(*real);
  } else if (const auto* words = std::get_if<std::string>(&figure.value)) {
    json->value(*words);
  } else {
    json->null();
  }
}

// The object that the figure is a part of, by the beginning of its name; empty: none.
std::string_view object_of(const Figure& figure) {
  for (const std::string_view object : kObjects) {
    if (figure.name.starts_with(object)) return object;
  }
  return {};
}

}  // namespace

std::string growth_of(const ReplayOptions& options) {
  return options.segments ? "segments" : std::string(pool::growth_name(options.pool.growth));
}

std::uint64_t maps_of(const ReplayReport& report) { return report.calls.maps + report.calls.pages_moved; }

void add_remarks(Figures* figures, const replay::TraceRemarks& remarks) {
  figures->push_back({"frees_without_allocation", remarks.frees_without_allocation});
  figures->push_back({"repeated_ids", remarks.repeated_ids});
  figures->push_back({"zero_sizes", remarks.zero_sizes});
  figures->push_back({"times_going_back", remarks.times_going_back});
  figures->push_back({"foreign_events", remarks.foreign_events});
  figures->push_back({"live_before_start", remarks.live_before_start});
  figures->push_back({"freed_with_pool", remarks.freed_with_pool});
  figures->push_back({"dropped_events", remarks.dropped_events});
}

Figures figures_of(const ReplayOptions& options, const ReplayedTrace& trace) {
  Figures figures = {{"trace", trace.name},
                     {"path", trace.path},
                     {"format", trace.format},
                     {"events", trace.report.events},
                     {"allocations", trace.report.allocations},
                     {"streams", trace.report.streams},
                     {"growth", growth_of(options)},
                     {"policy", std::string(pool::policy_name(options.pool.policy))},
                     {"on_miss", std::string(pool::on_miss_name(options.pool.on_miss))},
                     {"compaction", std::string(replay::compaction_name(options.compaction))},
                     {"capacity_over_peak", options.capacity_over_peak},
                     {"filled", std::uint64_t{options.filled ? 1U : 0U}},
                     {"device", std::string(replay::replay_device_name(options.device))},
                     {"capacity_bytes", {}}};
  if (options.capacity_bytes != 0) figures.back().value = options.capacity_bytes;
  add_memory(&figures, trace.report);
  add_failures(&figures, trace.report);
  figures.push_back({"smallest_capacity_bytes", {}});
  if (trace.smallest) figures.back().value = trace.smallest->capacity_bytes;
  figures.push_back({"smallest_over_live", {}});
  if (trace.smallest) figures.back().value = trace.smallest->over_peak();
  add_times(&figures, trace.report.times);
  add_remarks(&figures, trace.remarks);
  figures.push_back({"missing", {}});
  if (!trace.missing.empty()) figures.back().value = joined(trace.missing);
  return figures;
}

std::string csv_cell(const Figure& figure) {
  std::string text;
  if (const auto* number = std::get_if<std::uint64_t>(&figure.value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&figure.value)) return fixed(*real, 6);
  if (const auto* words = std::get_if<std::string>(&figure.value)) text = *words;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

void write_figures(base::JsonWriter* json, const Figures& figures) {
  for (std::size_t i = 0; i < figures.size();) {
    const std::string_view object = object_of(figures[i]);
    if (object.empty()) {
      json->key(figures[i].name);
      write_value(json, figures[i++]);
      continue;
    }
    json->key(object.substr(0, object.size() - 1));
    const bool is_there = !std::holds_alternative<std::monostate>(figures[i].value);
    is_there ? json->begin_object() : json->null();
    for (; i < figures.size() && object_of(figures[i]) == object; ++i) {
      if (!is_there) continue;
      json->key(figures[i].name.substr(object.size()));
      write_value(json, figures[i]);
    }
    if (is_there) json->end_object();
  }
}

}  // namespace cistern::cli
