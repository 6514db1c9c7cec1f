// Creation, destruction and looks into pools of the C interface. Every pool has compaction's rescue steps.
#include <cstring>
#include <memory>
#include <string>

#include "capi/device_access.hpp"
#include "capi/entry.hpp"
#include "capi/pool_settings.hpp"
#include "capi/snapshot_json.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"
#include "compact/stitcher.hpp"

using namespace cistern;

namespace {

base::Status write_options(const base::Result<pool::PoolOptions>& options, cistern_pool_options_t* wanted) {
  if (!options.is_ok()) return options.status();
  cistern_pool_options_t known = capi::pool_options_to_c(options.value());
  known.name = "pool";
  return capi::write_struct(known, "cistern_pool_options", wanted);
}

base::Result<pool::PoolOptions> read_options(const cistern_pool_options_t* given) {
  if (given == nullptr) return capi::pool_options_from_environment();
  cistern_pool_options_t known{};
  if (base::Status wrong = capi::read_struct(given, "cistern_pool_options", &known); !wrong.is_ok()) return wrong;
  return capi::pool_options_from_c(known);
}

base::Result<std::unique_ptr<pool::Pool>> make_pool(const std::shared_ptr<device::Device>& device,
                                                    const cistern_pool_options_t* given) {
  auto options = read_options(given);
  if (!options.is_ok()) return options.take_status();
  auto contexts = pool::ContextSet::of(device);
  const std::uint64_t page_bytes = capi::page_bytes_for(options.value(), device->info(), contexts->page_bytes());
  auto pages = capi::page_pool_of(device, page_bytes);
  if (!pages.is_ok()) return pages.take_status();
  return pool::Pool::create(device, pages.take(), options.value(), compact::rescue_steps(options.value().on_miss),
                            capi::observer_from_environment(options.value(), device->info()), std::move(contexts));
}

cistern_ledger_t ledger_to_c(const pool::Ledger& ledger) noexcept {
  cistern_ledger_t out{};
  out.version = ledger.version;
  out.reserved_bytes = ledger.reserved_bytes;
  out.allocated_bytes = ledger.allocated_bytes;
  out.requested_bytes = ledger.requested_bytes;
  out.cached_bytes = ledger.cached_bytes;
  out.awaiting_free_bytes = ledger.awaiting_free_bytes;
  out.free_bytes = ledger.free_bytes;
  out.moving_bytes = ledger.moving_bytes;
  out.peak_reserved_bytes = ledger.peak_reserved_bytes;
  out.peak_allocated_bytes = ledger.peak_allocated_bytes;
  out.peak_requested_bytes = ledger.peak_requested_bytes;
  out.limit_bytes = ledger.limit_bytes;
  out.largest_free_bytes = ledger.largest_free_bytes;
  out.live_blocks = ledger.live_blocks;
  out.free_blocks = ledger.free_blocks;
  out.allocations = ledger.allocations;
  out.frees = ledger.frees;
  out.failed_allocations = ledger.failed_allocations;
  out.misses = ledger.misses;
  out.growths = ledger.growths;
  out.trims = ledger.trims;
  out.stitches = ledger.stitches;
  out.stitched_pages = ledger.stitched_pages;
  out.compactions = ledger.compactions;
  out.compacted_bytes = ledger.compacted_bytes;
  out.longest_repair_ns = ledger.longest_repair_ns;
  out.longest_hold_ns = ledger.longest_hold_ns;
  out.exposure = ledger.exposure;
  out.movable_blocks = ledger.movable_blocks;
  out.movable_bytes = ledger.movable_bytes;
  out.pinned_bytes = ledger.pinned_bytes;
  out.moves = ledger.moves;
  out.moved_bytes = ledger.moved_bytes;
  out.void_moves = ledger.void_moves;
  out.overruns = ledger.overruns;
  return out;
}

}  // namespace

cistern_status_t cistern_pool_options_init(cistern_pool_options_t* options) noexcept {
  return capi::run("cistern_pool_options_init", [&] { return write_options(pool::PoolOptions{}, options); });
}

cistern_status_t cistern_pool_options_from_environment(cistern_pool_options_t* options) noexcept {
  return capi::run("cistern_pool_options_from_environment",
                   [&] { return write_options(capi::pool_options_from_environment(), options); });
}

cistern_status_t cistern_pool_create(cistern_device_t* device, const cistern_pool_options_t* options,
                                     cistern_pool_t** pool) noexcept {
  return capi::with_device(device, "cistern_pool_create", [&](const auto& opened) -> base::Status {
    if (pool == nullptr) return base::invalid_argument("the place for the pool is NULL");
    auto made = make_pool(opened, options);
    if (!made.is_ok()) return made.take_status();
    auto entry = std::make_unique<capi::PoolEntry>();
    entry->pool = made.take();
    entry->scheduler = compact::Scheduler::start(*entry->pool);
    auto handle = capi::pool_handles.issue(entry.get());
    if (!handle.is_ok()) return handle.take_status();
    static_cast<void>(entry.release());  // the table's now
    *pool = reinterpret_cast<cistern_pool_t*>(handle.value());
    return {};
  });
}

cistern_status_t cistern_pool_destroy(cistern_pool_t* pool, uint64_t* live_blocks) noexcept {
  if (pool == nullptr) return CISTERN_OK;
  return capi::run("cistern_pool_destroy", [&]() -> base::Status {
    const std::uint64_t handle = capi::number_of(pool);
    if (capi::is_in_call_on(handle)) {
      return base::Status(base::StatusCode::busy,
                          "a call on this pool is under way around the pressure callback that "
                          "destroys it; let the callback return first");
    }
    const std::unique_ptr<capi::PoolEntry> entry(static_cast<capi::PoolEntry*>(capi::pool_handles.withdraw(handle)));
    if (!entry) return capi::pool_handles.explain(handle);
    if (live_blocks != nullptr) *live_blocks = entry->pool->ledger().live_blocks;
    return {};
  });
}

cistern_status_t cistern_pool_live_blocks(cistern_pool_t* pool, uint64_t* live_blocks) noexcept {
  return capi::with_pool(pool, "cistern_pool_live_blocks", [&](pool::Pool& inner) -> base::Status {
    if (live_blocks == nullptr) return base::invalid_argument("the place for the number is NULL");
    *live_blocks = inner.ledger().live_blocks;
    return {};
  });
}

cistern_status_t cistern_trim(cistern_pool_t* pool, uint64_t keep_bytes, uint64_t* returned_bytes) noexcept {
  return capi::with_pool(pool, "cistern_trim", [&](pool::Pool& inner) -> base::Status {
    auto returned = inner.trim(keep_bytes);
    if (!returned.is_ok()) return returned.take_status();
    if (returned_bytes != nullptr) *returned_bytes = returned.value();
    return {};
  });
}

cistern_status_t cistern_get_ledger(cistern_pool_t* pool, cistern_ledger_t* ledger) noexcept {
  return capi::with_pool(pool, "cistern_get_ledger", [&](pool::Pool& inner) -> base::Status {
    return capi::write_struct(ledger_to_c(inner.ledger()), "cistern_ledger", ledger);
  });
}

cistern_status_t cistern_reset_peaks(cistern_pool_t* pool) noexcept {
  return capi::with_pool(pool, "cistern_reset_peaks", [](pool::Pool& inner) -> base::Status {
    inner.reset_peaks();
    return {};
  });
}

cistern_status_t cistern_get_mem_pool_info(cistern_pool_t* pool, uint64_t* total_bytes, uint64_t* used_bytes,
                                           uint64_t* free_bytes) noexcept {
  return capi::with_pool(pool, "cistern_get_mem_pool_info", [&](pool::Pool& inner) -> base::Status {
    const pool::Ledger ledger = inner.ledger();
    if (total_bytes != nullptr) *total_bytes = ledger.reserved_bytes;
    if (used_bytes != nullptr) *used_bytes = ledger.reserved_bytes - ledger.free_bytes;
    if (free_bytes != nullptr) *free_bytes = ledger.free_bytes;
    return {};
  });
}

cistern_status_t cistern_snapshot_json(cistern_pool_t* pool, char* buffer, size_t capacity, size_t* needed) noexcept {
  return capi::with_pool(pool, "cistern_snapshot_json", [&](pool::Pool& inner) -> base::Status {
    if (needed == nullptr) return base::invalid_argument("the place for the needed size is NULL");
    if (buffer == nullptr && capacity != 0) {
      return base::invalid_argument("the buffer is NULL but has a capacity of " + std::to_string(capacity));
    }
    const std::string text = capi::snapshot_json(inner.snapshot());
    *needed = text.size() + 1;
    if (buffer == nullptr) return {};
    if (capacity < text.size() + 1) {
      if (capacity > 0) buffer[0] = '\0';
      return base::invalid_argument("a buffer of " + std::to_string(capacity) + " bytes is too small, " +
                                    std::to_string(text.size() + 1) + " are needed");
    }
    std::memcpy(buffer, text.c_str(), text.size() + 1);
    return {};
  });
}
