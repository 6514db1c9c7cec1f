#include "capi/snapshot_json.hpp"

#include <cstdio>

#include "base/json_writer.hpp"

namespace cistern::capi {
namespace {

using base::JsonWriter;

std::string_view state_name(core::BlockState state) noexcept {
  switch (state) {
    case core::BlockState::live:
      return "live";
    case core::BlockState::free:
      return "free";
    case core::BlockState::vacant:
      return "vacant";
    case core::BlockState::moving:
      return "moving";
    case core::BlockState::unused:
      break;
  }
  return "unused";
}

void write_address(JsonWriter& json, std::string_view key, device::Address address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  json.key(key).value(std::string_view(text));
}

void write_ledger(JsonWriter& json, const pool::Ledger& ledger) {
  json.key("ledger").begin_object();
  json.member("reserved_bytes", ledger.reserved_bytes);
  json.member("allocated_bytes", ledger.allocated_bytes);
  json.member("requested_bytes", ledger.requested_bytes);
  json.member("cached_bytes", ledger.cached_bytes);
  json.member("awaiting_free_bytes", ledger.awaiting_free_bytes);
  json.member("free_bytes", ledger.free_bytes);
  json.member("moving_bytes", ledger.moving_bytes);
  json.member("peak_reserved_bytes", ledger.peak_reserved_bytes);
  json.member("peak_allocated_bytes", ledger.peak_allocated_bytes);
  json.member("peak_requested_bytes", ledger.peak_requested_bytes);
  json.member("limit_bytes", ledger.limit_bytes);
  json.member("largest_free_bytes", ledger.largest_free_bytes);
  json.member("live_blocks", ledger.live_blocks);
  json.member("free_blocks", ledger.free_blocks);
  json.member("allocations", ledger.allocations);
  json.member("frees", ledger.frees);
  json.member("failed_allocations", ledger.failed_allocations);
  json.member("misses", ledger.misses);
  json.member("growths", ledger.growths);
  json.member("trims", ledger.trims);
  json.member("stitches", ledger.stitches);
  json.member("stitched_pages", ledger.stitched_pages);
  json.member("compactions", ledger.compactions);
  json.member("compacted_bytes", ledger.compacted_bytes);
  json.member("exposure", ledger.exposure);
  json.member("movable_blocks", ledger.movable_blocks);
  json.member("movable_bytes", ledger.movable_bytes);
  json.member("pinned_bytes", ledger.pinned_bytes);
  json.member("moves", ledger.moves);
  json.member("moved_bytes", ledger.moved_bytes);
  json.member("void_moves", ledger.void_moves);
  json.member("overruns", ledger.overruns);
  json.member("fragmentation_rate", ledger.fragmentation_rate());
  json.member("overhead", ledger.overhead());
  json.end_object();
}

void write_pauses(JsonWriter& json, std::string_view key, const pool::PauseCounts& pauses) {
  json.key(key).begin_object();
  json.member("count", pauses.count());
  json.member("total_ns", pauses.total_ns);
  json.member("p50_ns", pauses.quantile_ns(0.5));
  json.member("p99_ns", pauses.quantile_ns(0.99));
  json.member("longest_ns", pauses.longest_ns);
  json.key("below_us").begin_array();  // each bucket's end and how many pauses it has; empty ones are left out
  for (unsigned bucket = 0; bucket < pool::PauseCounts::kBuckets; ++bucket) {
    if (pauses.counts[bucket] == 0) continue;
    json.begin_object();
    json.member("end_us", std::uint64_t{1} << bucket).member("count", pauses.counts[bucket]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_compaction(JsonWriter& json, const pool::Snapshot& snapshot) {
  json.key("compaction").begin_object();
  json.member("stitchable_bytes", snapshot.stitchable_bytes);
  json.member("stitchable_share", snapshot.stitchable_share());
  write_pauses(json, "requester_pauses", snapshot.requester_pauses);
  write_pauses(json, "other_pauses", snapshot.other_pauses);
  json.end_object();
}

void write_context(JsonWriter& json, const pool::ContextView& context) {
  json.begin_object();
  json.member("name", context.name);
  json.member("allocated_bytes", context.allocated_bytes);
  json.member("reserved_bytes", context.reserved_bytes);
  json.member("minimum_bytes", context.minimum_bytes);
  json.member("maximum_bytes", context.maximum_bytes);
  json.member("borrowed_bytes", context.borrowed_bytes);
  json.end_object();
}

void write_contexts(JsonWriter& json, const pool::Snapshot& snapshot) {
  json.key("context");
  write_context(json, snapshot.context);
  if (snapshot.contexts.empty()) return;
  json.key("device_share").begin_object();
  json.member("capacity_bytes", snapshot.share.capacity_bytes);
  json.member("promised_bytes", snapshot.share.promised_bytes);
  json.member("reserved_bytes", snapshot.share.reserved_bytes);
  json.member("borrowed_bytes", snapshot.share.borrowed_bytes);
  json.member("lendable_bytes", snapshot.share.lendable_bytes);
  json.key("contexts").begin_array();
  for (const pool::ContextView& each : snapshot.contexts) write_context(json, each);
  json.end_array();
  json.end_object();
}

void write_elastics(JsonWriter& json, const std::vector<pool::ElasticView>& elastics) {
  json.key("elastic_buffers").begin_array();
  for (const pool::ElasticView& elastic : elastics) {
    json.begin_object();
    write_address(json, "address", elastic.address);
    json.member("bytes", elastic.bytes).member("backed_bytes", elastic.backed_bytes);
    json.member("max_bytes", elastic.max_bytes);
    if (!elastic.tag.empty()) json.member("tag", elastic.tag);
    json.end_object();
  }
  json.end_array();
}

void write_tags(JsonWriter& json, const std::vector<pool::TagSnapshot>& tags) {
  json.key("tags").begin_array();
  for (const pool::TagSnapshot& tag : tags) {
    json.begin_object();
    json.member("tag", tag.tag);
    json.member("blocks", tag.blocks);
    json.member("requested_bytes", tag.requested_bytes);
    json.member("allocated_bytes", tag.allocated_bytes);
    json.end_object();
  }
  json.end_array();
}

void write_block(JsonWriter& json, const pool::BlockSnapshot& block) {
  json.begin_object();
  write_address(json, "address", block.address);
  json.member("bytes", block.bytes);
  json.member("state", block.is_reserved ? "reserved" : state_name(block.state));
  if (block.state == core::BlockState::live) {
    json.member("requested_bytes", block.requested_bytes);
    if (!block.tag.empty()) json.member("tag", block.tag);
    if (!block.name.empty()) json.member("name", block.name);
    if (block.is_elastic) json.member("elastic", true);
    if (block.is_movable) json.member("movable", true).member("pins", block.pins);
  }
  json.end_object();
}

void write_arena(JsonWriter& json, const pool::ArenaSnapshot& arena) {
  json.begin_object();
  json.member("kind", pool::arena_kind_name(arena.kind));
  write_address(json, "base", arena.base);
  json.member("range_bytes", arena.range_bytes);
  json.member("mapped_bytes", arena.mapped_bytes);
  json.member("page_bytes", arena.page_bytes);
  json.key("buckets").begin_array();
  for (const core::BucketView& bucket : arena.buckets) {
    json.begin_object();
    json.member("min_bytes", bucket.min_bytes).member("blocks", bucket.blocks).member("bytes", bucket.bytes);
    json.end_object();
  }
  json.end_array();
  json.key("extents").begin_array();
  for (const pool::ExtentSnapshot& extent : arena.extents) {
    json.begin_object();
    write_address(json, "address", extent.address);
    json.member("bytes", extent.bytes);
    json.end_object();
  }
  json.end_array();
  json.key("blocks").begin_array();
  for (const pool::BlockSnapshot& block : arena.blocks) write_block(json, block);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string snapshot_json(const pool::Snapshot& snapshot) {
  std::string text;
  JsonWriter json(&text);
  json.begin_object();
  json.member("format", "cistern.snapshot").member("version", kSnapshotVersion);
  json.member("pool", snapshot.pool).member("device", snapshot.device);
  write_ledger(json, snapshot.ledger);
  write_compaction(json, snapshot);
  write_contexts(json, snapshot);
  write_tags(json, snapshot.tags);
  write_elastics(json, snapshot.elastics);
  json.key("arenas").begin_array();
  for (const pool::ArenaSnapshot& arena : snapshot.arenas) write_arena(json, arena);
  json.end_array();
  json.end_object();
  return text;
}

}  // namespace cistern::capi
