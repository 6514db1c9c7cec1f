// Compaction on demand and the backing of addresses, in the C interface.
#include <memory>
#include <thread>

#include "capi/entry.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"

using namespace cistern;

namespace {

constexpr bool is_same(std::uint32_t c_number, pool::CompactionEnd end) {
  return c_number == static_cast<std::uint32_t>(end);
}
static_assert(is_same(CISTERN_COMPACTED, pool::CompactionEnd::done));
static_assert(is_same(CISTERN_COMPACTED_BUDGET, pool::CompactionEnd::budget));
static_assert(is_same(CISTERN_COMPACTED_GAVE_WAY, pool::CompactionEnd::gave_way));

cistern_compaction_t report_to_c(const pool::CompactionReport& report) noexcept {
  cistern_compaction_t out{};
  out.end = static_cast<std::uint32_t>(report.end);
  out.moved_bytes = report.moved_bytes;
  out.moved_pages = report.moved_pages;
  out.copied_bytes = report.copied_bytes;
  out.duration_us = report.duration_ns / 1000;
  out.largest_free_before = report.largest_free_before;
  out.largest_free_after = report.largest_free_after;
  out.exposure_before = report.exposure_before;
  out.exposure_after = report.exposure_after;
  return out;
}

// Hands changes to a callback. Calls of the library from inside are refused, also in the library's own thread, which is
// in no call.
class CallbackListener final : public pool::BackingListener {
 public:
  CallbackListener(cistern_backing_callback_t callback, void* user) noexcept : callback_(callback), user_(user) {}

  void on_backing_changed(const pool::BackingChange& change) noexcept override {
    capi::ThreadRecord* record = capi::this_thread_record();
    if (record == nullptr) return;  // the host has no memory even for this: a callback could only fail
    const bool outside = record->handle_in_use.load(std::memory_order_relaxed) == capi::kNoHandle;
    if (outside) record->handle_in_use.store(capi::kWithoutHandle, std::memory_order_relaxed);
    callback_(change.address, change.bytes, change.generation, change.mapped ? 1 : 0, user_);
    if (outside) capi::HandleTable::leave(record);
  }

 private:
  cistern_backing_callback_t callback_;
  void* user_;
};

}  // namespace

cistern_status_t cistern_compact(cistern_pool_t* pool, uint64_t max_bytes, uint64_t max_us,
                                 cistern_compaction_t* result) noexcept {
  return capi::with_pool(pool, "cistern_compact", [&](pool::Pool& inner) -> base::Status {
    if (result != nullptr) {
      if (base::Status wrong = capi::check_struct(result, "cistern_compaction"); !wrong.is_ok()) return wrong;
    }
    pool::CompactionRequest request;
    if (max_bytes != 0) request.max_bytes = max_bytes;
    if (max_us != 0) request.max_us = max_us;
    auto done = inner.compact(request);
    if (!done.is_ok()) return done.take_status();
    if (result == nullptr) return {};
    return capi::write_struct(report_to_c(done.value()), "cistern_compaction", result);
  });
}

cistern_status_t cistern_backing_generation(cistern_pool_t* pool, cistern_address_t address, uint64_t bytes,
                                            uint64_t* generation) noexcept {
  return capi::with_pool(pool, "cistern_backing_generation", [&](pool::Pool& inner) -> base::Status {
    if (generation == nullptr) return base::invalid_argument("the place for the generation is NULL");
    auto known = inner.backing_generation(address, bytes);
    if (!known.is_ok()) return known.take_status();
    *generation = known.value();
    return {};
  });
}

cistern_status_t cistern_set_backing_callback(cistern_pool_t* pool, cistern_backing_callback_t callback,
                                              void* user) noexcept {
  return capi::with_pool_entry(pool, "cistern_set_backing_callback", [&](capi::PoolEntry& entry) -> base::Status {
    std::shared_ptr<pool::BackingListener> listener;
    if (callback != nullptr) listener = std::make_shared<CallbackListener>(callback, user);
    const std::lock_guard<std::mutex> lock(entry.listener_mutex);
    entry.pool->set_backing_listener(listener);
    entry.listener.swap(listener);
    // Whoever is telling the one before holds it meanwhile.
    while (listener && listener.use_count() > 1) std::this_thread::yield();
    return {};
  });
}
