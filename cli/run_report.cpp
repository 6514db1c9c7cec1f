#include "cli/run_report.hpp"

#include <algorithm>

#include "base/json_writer.hpp"
#include "base/units.hpp"
#include "cli/ui/numbers.hpp"
#include "report/table.hpp"

namespace cistern::cli {
namespace {

using replay::ComparisonReport;
using replay::WaySummary;

std::string percent(double share) { return fixed(100 * share, share < 0.001 ? 3 : 1) + " %"; }

// "1,234 x": how many times cheaper, or dearer.
std::string ratio(double direct, double pool) {
  if (direct <= 0 || pool <= 0) return "";
  const double times = direct / pool;
  if (times >= 0.995 && times < 1.005) return "same";
  const std::string text = times >= 1 ? fixed(times, times < 10 ? 2 : 0) : fixed(1 / times, 1 / times < 10 ? 2 : 0);
  return text + (times >= 1 ? " x less" : " x more");
}

// "12: 128.0 us, 256.0 us, 300.1 us": how many, p50, p99 and the longest.
std::string pauses_text(const pool::PauseCounts& pauses) {
  if (pauses.count() == 0) return "none";
  const auto time = [](std::uint64_t ns) { return base::format_nanoseconds(static_cast<double>(ns)); };
  return std::to_string(pauses.count()) + ": " + time(pauses.quantile_ns(0.5)) + ", " + time(pauses.quantile_ns(0.99)) +
         ", " + time(pauses.longest_ns);
}

void add_fragmentation(report::Table& table, const WaySummary& pool) {
  const replay::FragmentationSamples& seen = pool.fragmentation;
  const auto row = [&](std::string what, std::string value) {
    table.add_row({std::move(what), "-", std::move(value), ""});
  };
  row("fragmentation rate, mean", fixed(seen.mean_rate, 3));
  row("exposure, mean and most", fixed(seen.mean_exposure, 3) + ", " + fixed(seen.max_exposure, 3));
  row("free bytes that stitching can use, mean", percent(seen.mean_stitchable_share));
  row("waits for compaction (p50, p99, longest)", pauses_text(pool.requester_pauses));
  row("holds by compaction (p50, p99, longest)", pauses_text(pool.other_pauses));
}

void add_figures(report::Table& table, const ComparisonReport& report) {
  const WaySummary& direct = report.direct;
  const WaySummary& pool = report.pool;
  const auto row = [&](std::string what, std::string by_driver, std::string by_pool, std::string change = {}) {
    table.add_row({std::move(what), std::move(by_driver), std::move(by_pool), std::move(change)});
  };
  const auto time = [](std::uint64_t ns) { return base::format_nanoseconds(static_cast<double>(ns)); };
  const std::string modelled = report.time_is_modelled ? " (modelled)" : "";
  row("allocations per request", fixed(direct.allocations_per_request, 1), fixed(pool.allocations_per_request, 1));
  row("driver calls per request", fixed(direct.driver_calls_per_request, 1), fixed(pool.driver_calls_per_request, 1),
      ratio(direct.driver_calls_per_request, pool.driver_calls_per_request));
  row("memory management per request, p50", time(direct.memory_ns_p50) + modelled, time(pool.memory_ns_p50),
      ratio(static_cast<double>(direct.memory_ns_p50), static_cast<double>(pool.memory_ns_p50)));
  row("memory management per request, p99", time(direct.memory_ns_p99) + modelled, time(pool.memory_ns_p99),
      ratio(static_cast<double>(direct.memory_ns_p99), static_cast<double>(pool.memory_ns_p99)));
  row("  its share of the request", percent(direct.memory_share()), percent(pool.memory_share()));
  row("peak live", base::format_bytes(direct.peak_live_bytes), base::format_bytes(pool.peak_live_bytes));
  row("peak reserved", base::format_bytes(direct.peak_reserved_bytes), base::format_bytes(pool.peak_reserved_bytes),
      ratio(static_cast<double>(direct.peak_reserved_bytes), static_cast<double>(pool.peak_reserved_bytes)));
  row("overhead (peak reserved / peak live)", fixed(direct.overhead(), 3), fixed(pool.overhead(), 3));
  add_fragmentation(table, pool);
  row("driver mallocs + page creations, 2nd half", std::to_string(direct.driver_calls_steady),
      std::to_string(pool.driver_calls_steady));
  row("pages mapped, 2nd half", std::to_string(direct.maps_steady), std::to_string(pool.maps_steady));
  if (!pool.streams.empty()) {
    row("events created, recorded, waited for", "-",
        std::to_string(pool.events_created) + ", " + std::to_string(pool.events_recorded) + ", " +
            std::to_string(pool.event_waits));
  }
  row("blocks left after unload", std::to_string(direct.leaked_blocks), std::to_string(pool.leaked_blocks));
}

void write_pauses(base::JsonWriter& json, std::string_view name, const pool::PauseCounts& pauses) {
  json.key(name).begin_object().member("count", pauses.count());
  json.member("ns_p50", pauses.quantile_ns(0.5)).member("ns_p99", pauses.quantile_ns(0.99));
  json.member("ns_longest", pauses.longest_ns).member("ns_total", pauses.total_ns).end_object();
}

void write_way(base::JsonWriter& json, std::string_view name, const WaySummary& way) {
  json.key(name).begin_object();
  json.member("allocations_per_request", way.allocations_per_request);
  json.member("driver_calls_per_request", way.driver_calls_per_request);
  json.member("memory_ns_per_request_p50", way.memory_ns_p50);
  json.member("memory_ns_per_request_p99", way.memory_ns_p99);
  json.member("memory_ns_total", way.memory_ns_total);
  json.member("compute_ns_total", way.compute_ns_total);
  json.member("memory_share", way.memory_share());
  json.member("peak_live_bytes", way.peak_live_bytes);
  json.member("peak_reserved_bytes", way.peak_reserved_bytes);
  json.member("overhead", way.overhead());
  json.member("fragmentation_rate", way.fragmentation.mean_rate);
  json.member("exposure_mean", way.fragmentation.mean_exposure);
  json.member("exposure_max", way.fragmentation.max_exposure);
  json.member("stitchable_share_mean", way.fragmentation.mean_stitchable_share);
  write_pauses(json, "requester_pauses", way.requester_pauses);
  write_pauses(json, "other_pauses", way.other_pauses);
  json.member("driver_calls_steady", way.driver_calls_steady);
  json.member("maps_steady", way.maps_steady);
  json.member("leaked_blocks", way.leaked_blocks);
  json.member("events_created", way.events_created).member("events_recorded", way.events_recorded);
  json.member("event_waits", way.event_waits);
  json.end_object();
}

std::string streams_text(const WaySummary& pool) {
  report::Table streams({{"stream"},
                         {"requests", report::Align::right},
                         {"allocations / request", report::Align::right},
                         {"memory management / request", report::Align::right}});
  for (std::size_t i = 0; i < pool.streams.size(); ++i) {
    const replay::StreamSummary& stream = pool.streams[i];
    const double requests = static_cast<double>(std::max<std::uint64_t>(stream.requests, 1));
    streams.add_row({std::to_string(i), std::to_string(stream.requests),
                     fixed(static_cast<double>(stream.allocations) / requests, 0),
                     base::format_nanoseconds(static_cast<double>(stream.memory_ns) / requests)});
  }
  return streams.text();
}

std::string contexts_text(const ComparisonReport& report) {
  report::Table table({{"context"},
                       {"allocated", report::Align::right},
                       {"reserved", report::Align::right},
                       {"minimum", report::Align::right},
                       {"maximum", report::Align::right},
                       {"borrowed", report::Align::right}});
  std::uint64_t allocated = 0;
  for (const pool::ContextView& context : report.contexts) {
    allocated += context.allocated_bytes;
    table.add_row({context.name, base::format_bytes(context.allocated_bytes),
                   base::format_bytes(context.reserved_bytes), base::format_bytes(context.minimum_bytes),
                   base::format_bytes(context.maximum_bytes), base::format_bytes(context.borrowed_bytes)});
  }
  const pool::DeviceShare& share = report.share;
  table.add_row({"together", base::format_bytes(allocated), base::format_bytes(share.reserved_bytes),
                 base::format_bytes(share.promised_bytes), base::format_bytes(share.capacity_bytes),
                 base::format_bytes(share.borrowed_bytes)});
  return "when all requests were served:\n" + table.text();
}

void write_contexts(base::JsonWriter& json, const ComparisonReport& report) {
  json.key("contexts").begin_array();
  for (const pool::ContextView& context : report.contexts) {
    json.begin_object().member("name", context.name).member("allocated", context.allocated_bytes);
    json.member("reserved", context.reserved_bytes).member("minimum", context.minimum_bytes);
    json.member("maximum", context.maximum_bytes).member("borrowed", context.borrowed_bytes).end_object();
  }
  json.end_array();
  if (report.contexts.empty()) return;
  const pool::DeviceShare& share = report.share;
  json.key("contexts_together").begin_object().member("reserved", share.reserved_bytes);
  json.member("minimum", share.promised_bytes).member("borrowed", share.borrowed_bytes);
  json.member("capacity", share.capacity_bytes).member("lendable", share.lendable_bytes).end_object();
}

}  // namespace

std::string comparison_text(const ComparisonReport& report) {
  std::string out = std::to_string(report.requests) + " requests on " + report.device +
                    "; the first to each model has the largest shapes\n\n";
  report::Table models({{"model"},
                        {"requests", report::Align::right},
                        {"weights", report::Align::right},
                        {"peak activations", report::Align::right},
                        {"allocations / request", report::Align::right}});
  for (const replay::ModelSummary& model : report.models) {
    models.add_row({model.name, std::to_string(model.requests), base::format_bytes(model.weight_bytes),
                    base::format_bytes(model.peak_activation_bytes), fixed(model.activations_per_request, 0)});
  }
  out += models.text() + "\n";
  if (!report.pool.streams.empty()) out += streams_text(report.pool) + "\n";
  if (!report.contexts.empty()) out += contexts_text(report) + "\n";
  report::Table figures({{""},
                         {"every tensor from the driver", report::Align::right},
                         {"through the pool", report::Align::right},
                         {"", report::Align::right}});
  add_figures(figures, report);
  out += figures.text() + "\n";
  out += report.outputs_identical ? "outputs: identical, bit for bit\n"
                                  : "outputs: DIFFERENT, first at " + report.first_difference + "\n";
  if (report.time_is_modelled) {
    out += "driver time is modelled: 0.5-2 ms per malloc and free together; the pool's bookkeeping is measured\n";
  }
  return out;
}

std::string comparison_json(const ComparisonReport& report) {
  std::string out;
  base::JsonWriter json(&out, base::JsonWriter::Style::pretty);
  json.begin_object();
  json.member("device", report.device).member("requests", report.requests);
  json.member("driver_time_is_modelled", report.time_is_modelled);
  json.key("models").begin_array();
  for (const replay::ModelSummary& model : report.models) {
    json.begin_object().member("name", model.name).member("path", model.path).member("requests", model.requests);
    json.member("weights", model.weights).member("weight_bytes", model.weight_bytes);
    json.member("peak_activation_bytes", model.peak_activation_bytes);
    json.member("allocations_per_request", model.activations_per_request).end_object();
  }
  json.end_array();
  write_way(json, "direct", report.direct);
  write_way(json, "pool", report.pool);
  json.key("streams").begin_array();
  for (const replay::StreamSummary& stream : report.pool.streams) {
    json.begin_object().member("requests", stream.requests).member("allocations", stream.allocations);
    json.member("memory_ns_total", stream.memory_ns).end_object();
  }
  json.end_array();
  write_contexts(json, report);
  json.member("outputs_identical", report.outputs_identical);
  if (!report.outputs_identical) json.member("first_difference", report.first_difference);
  json.member("leaked_blocks", report.leaked_blocks());
  json.end_object();
  return out + "\n";
}

}  // namespace cistern::cli
