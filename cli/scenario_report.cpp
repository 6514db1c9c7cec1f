// The figures of the llama7b scenario, written beside the published ones.
#include "cli/scenario_report.hpp"

#include <cstdio>

#include "base/json_writer.hpp"
#include "base/units.hpp"
#include "cli/ui/wrap.hpp"
#include "replay/article.hpp"
#include "replay/llama7b.hpp"
#include "report/table.hpp"

namespace cistern::cli {

namespace {

namespace article = replay::article;
using base::JsonWriter;
using replay::CostSeries;
using replay::Llama7bReport;
using replay::WayFigures;
using report::Align;
using report::Table;

double milliseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

// Of an inference with the published 15 ms of compute, the part that goes into memory.
double share(double memory_ms) { return memory_ms / (memory_ms + article::kComputeMs); }

std::string fixed(double value, int digits, std::string_view unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text + std::string(unit);
}

std::string gigabytes(std::uint64_t bytes) { return fixed(static_cast<double>(bytes) / 1e9, 2, " GB"); }
std::string megabytes(std::uint64_t bytes) { return fixed(static_cast<double>(bytes) / 1e6, 1, " MB"); }
std::string time_of(std::uint64_t nanoseconds) { return base::format_nanoseconds(static_cast<double>(nanoseconds)); }
std::string percent(double part) { return fixed(100 * part, 1, " %"); }

// --- For people -----------------------------------------------------------------------------------------------------

std::string workload_table(const Llama7bReport& report) {
  Table table({{"what lives"}, {"article", Align::right}, {"here", Align::right}, {"how"}});
  table.add_row({"weights", gigabytes(article::kWeightBytes), gigabytes(report.need.weight_bytes),
                 std::to_string(report.weight_tensors) + " tensors, " + std::to_string(report.parameters) +
                     " parameters of 2 B (" + base::format_bytes(report.need.weight_bytes) + ")"});
  table.add_row({"KV cache", gigabytes(article::kKvBytes), gigabytes(report.need.kv_bytes),
                 std::to_string(report.options.kv_tokens) + " tokens of 512 KiB, in blocks of " +
                     std::to_string(report.options.kv_block_tokens) + " tokens a layer" +
                     (report.options.kv_alignment_bytes == 0 ? "" : ", aligned") +
                     (report.options.kv_cache == replay::KvCache::elastic ? "; pool: grows in place" : "")});
  table.add_row({"activations, peak", gigabytes(article::kActivationBytes), gigabytes(report.activation_peak_bytes),
                 "prompt of " + std::to_string(report.prompt_tokens) + " tokens, " +
                     std::to_string(report.chunk_tokens) + " at a time, eager attention"});
  table.add_row({"peak live", gigabytes(article::kWeightBytes + article::kKvBytes + article::kActivationBytes),
                 gigabytes(report.pool.peak_live_bytes), "weights, full cache and an inference of the article's size"});
  return table.text();
}

void add_inference(Table* table, const std::string& name, const CostSeries& direct, const CostSeries& pool,
                   const std::string& claim_direct, const std::string& claim_pool, bool is_article) {
  table->add_row({name, "", "", "", ""});
  table->add_row({"  time in memory, p50", claim_direct, time_of(direct.nanoseconds(50)), claim_pool,
                  time_of(pool.nanoseconds(50))});
  table->add_row({"  time in memory, p99", "", time_of(direct.nanoseconds(99)), "", time_of(pool.nanoseconds(99))});
  table->add_row({"  share beside 15 ms of compute", is_article ? "40-70 %" : "",
                  percent(share(milliseconds(direct.nanoseconds(50)))), "",
                  percent(share(milliseconds(pool.nanoseconds(50))))});
  table->add_row({"  driver calls, p50 / most", is_article ? "40" : "",
                  std::to_string(direct.driver_calls(50)) + " / " + std::to_string(direct.driver_calls(100)),
                  is_article ? "0" : "",
                  std::to_string(pool.driver_calls(50)) + " / " + std::to_string(pool.driver_calls(100))});
}

std::string ways_table(const Llama7bReport& report) {
  const WayFigures& direct = report.direct;
  const WayFigures& pool = report.pool;
  Table table({{"what it costs"},
               {"article: no pool", Align::right},
               {"here: direct", Align::right},
               {"article: pool", Align::right},
               {"here: pool", Align::right}});
  table.add_row({"peak reserved", "", gigabytes(direct.peak_reserved_bytes), "", gigabytes(pool.peak_reserved_bytes)});
  table.add_row({"overhead (reserved / live)", "", fixed(direct.overhead(), 4, ""), "", fixed(pool.overhead(), 4, "")});
  table.add_row({"fragmentation (reserved - live)", "500 MB", megabytes(direct.fragmentation_bytes()), "0 MB",
                 megabytes(pool.fragmentation_bytes())});
  table.add_row({"loading the weights", "", time_of(direct.load.nanoseconds()), "", time_of(pool.load.nanoseconds())});
  add_inference(&table, "inference of " + std::to_string(article::kTensors) + " tensors", direct.article, pool.article,
                "15 ms", "< 1 ms", true);
  add_inference(&table, "decode step of " + std::to_string(direct.decode.allocations(50)) + " tensors", direct.decode,
                pool.decode, "", "", false);
  add_inference(&table, "prefill chunk of " + std::to_string(direct.prefill.allocations(50)) + " tensors",
                direct.prefill, pool.prefill, "", "", false);
  return table.text();
}

// --- For programs ---------------------------------------------------------------------------------------------------

void write_inference(JsonWriter* json, std::string_view name, const CostSeries& series) {
  json->key(name).begin_object().member("inferences", series.size()).member("allocations", series.allocations(50));
  json->member("memory_ms_p50", milliseconds(series.nanoseconds(50)));
  json->member("memory_ms_p99", milliseconds(series.nanoseconds(99)));
  json->member("memory_ms_max", milliseconds(series.nanoseconds(100)));
  json->member("modelled_driver_ms_p50", milliseconds(series.modelled_ns(50)));
  json->member("modelled_driver_ms_total", milliseconds(series.total().modelled_ns));
  json->member("driver_calls_p50", series.driver_calls(50)).member("driver_calls_max", series.driver_calls(100));
  json->member("driver_calls_total", series.total().driver_calls);
  json->member("share_of_inference", share(milliseconds(series.nanoseconds(50)))).end_object();
}

void write_way(JsonWriter* json, std::string_view name, const WayFigures& way) {
  const double memory_ms = milliseconds(way.article.nanoseconds(50));
  json->key(name).begin_object();
  json->member("peak_live_bytes", way.peak_live_bytes).member("peak_reserved_bytes", way.peak_reserved_bytes);
  json->member("overhead", way.overhead()).member("fragmentation_bytes", way.fragmentation_bytes());
  json->member("memory_ms_per_inference", memory_ms);
  json->member("driver_calls_per_inference", way.article.driver_calls(50));
  json->member("share_of_inference", share(memory_ms));
  json->member("load_ms", milliseconds(way.load.nanoseconds()));
  json->member("load_driver_calls", way.load.driver_calls);
  write_inference(json, "article_inference", way.article);
  write_inference(json, "decode_step", way.decode);
  write_inference(json, "prefill_chunk", way.prefill);
  json->end_object();
}

void write_workload(JsonWriter* json, const Llama7bReport& report) {
  json->key("workload").begin_object().member("parameters", report.parameters);
  json->member("weight_tensors", report.weight_tensors).member("weight_bytes", report.need.weight_bytes);
  json->member("kv_bytes_per_token", replay::llama7b::kKvBytesPerToken);
  json->member("kv_tokens", report.options.kv_tokens).member("kv_bytes", report.need.kv_bytes);
  json->member("kv_block_tokens", report.options.kv_block_tokens);
  json->member("kv_alignment_bytes", report.options.kv_alignment_bytes);
  json->member("kv_cache", replay::kv_cache_name(report.options.kv_cache));
  json->member("prompt_tokens", report.prompt_tokens).member("chunk_tokens", report.chunk_tokens);
  json->member("steps", report.options.steps).member("seed", report.options.seed);
  json->member("prefill_activation_peak_bytes", report.activation_peak_bytes);
  json->member("decode_activation_peak_bytes", report.decode_activation_bytes).end_object();
}

void write_article(JsonWriter* json) {
  json->key("article").begin_object().member("weight_bytes", article::kWeightBytes);
  json->member("kv_bytes", article::kKvBytes).member("kv_tokens", article::kKvTokens);
  json->member("activation_bytes", article::kActivationBytes).member("tensors_per_inference", article::kTensors);
  json->member("compute_ms", article::kComputeMs);
  json->key("direct").begin_object().member("fragmentation_bytes", article::kDirectFragmentationBytes);
  json->member("memory_ms_per_inference", article::kDirectMemoryMs).end_object();
  json->key("pool").begin_object().member("fragmentation_bytes", article::kPoolFragmentationBytes);
  json->member("memory_ms_per_inference_below", article::kPoolMemoryMs).end_object().end_object();
}

void write_device(JsonWriter* json, const Llama7bReport& report) {
  json->key("device").begin_object().member("kind", "simulated").member("total_bytes", report.options.device_bytes);
  json->member("latency", "modelled").member("pair_min_ms", milliseconds(report.options.pair_min_ns));
  json->member("pair_max_ms", milliseconds(report.options.pair_max_ns));
  json->member("driver_rounding", replay::driver_rounding_name(report.options.driver_rounding)).end_object();
}

}  // namespace

std::string llama7b_text(const Llama7bReport& report) {
  const auto& options = report.options;
  std::string out = "LLaMA-7B in fp16 on a simulated device of " + base::format_bytes(options.device_bytes) +
                    "; pool: " + std::string(pool::policy_name(options.pool.policy)) + ", " +
                    std::string(pool::on_miss_name(options.pool.on_miss)) + ", pages of " +
                    base::format_bytes(options.pool.page_bytes) + ".\n\n";
  out += workload_table(report) + "\n" + ways_table(report) + "\n";
  out += wrapped(
      "The article gives its 8 GB of cache to 128 K tokens. In fp16 a token takes 512 KiB (2 x 32 layers x "
      "4096 x 2 B), so 8 GiB are 16 K tokens, and 128 K tokens are 64 GiB: --kv-tokens 131072 "
      "--device-bytes 96GiB.",
      0);
  out += wrapped("Driver time is modelled: " + base::format_nanoseconds(static_cast<double>(options.pair_min_ns)) +
                     " to " + base::format_nanoseconds(static_cast<double>(options.pair_max_ns)) +
                     " for a malloc and its free, the article's figure. Direct is the driver's time alone; pool is the "
                     "measured CPU time of the pool's calls on this machine plus the driver's. Fragmentation is peak "
                     "reserved less peak live; for direct it is what the driver rounds up.",
                 0);
  return out;
}

std::string llama7b_json(const Llama7bReport& report) {
  std::string out;
  JsonWriter json(&out, JsonWriter::Style::pretty);
  json.begin_object().member("scenario", "llama7b");
  json.member("policy", pool::policy_name(report.options.pool.policy));
  json.member("on_miss", pool::on_miss_name(report.options.pool.on_miss));
  json.member("page_bytes", report.options.pool.page_bytes);
  json.member("peak_live_bytes", report.pool.peak_live_bytes);
  json.member("peak_reserved_bytes", report.pool.peak_reserved_bytes);
  json.member("overhead", report.pool.overhead());
  json.member("fragmentation_bytes", report.pool.fragmentation_bytes());
  write_device(&json, report);
  write_workload(&json, report);
  write_article(&json);
  write_way(&json, "direct", report.direct);
  write_way(&json, "pool", report.pool);
  json.end_object();
  return out + "\n";
}

}  // namespace cistern::cli
