// Contexts in the C interface: where pools stand on their device, and whose memory an address is.
#include <algorithm>
#include <cstring>
#include <string>

#include "capi/entry.hpp"
#include "capi/fork_guard.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"
#include "pool/context.hpp"

using namespace cistern;

namespace {

// The handle of the pool in whose arenas the address lies.
base::Result<std::uint64_t> find_owner(cistern_address_t address, capi::ThreadRecord* record) {
  std::uint64_t owner = 0;
  const device::Device* device = nullptr;
  const std::uint64_t places = capi::pool_handles.places();
  for (std::uint64_t place = 0; place < places; ++place) {
    const std::uint64_t handle = capi::pool_handles.handle_at(place);
    if (handle == 0) continue;
    const auto* entry = static_cast<const capi::PoolEntry*>(capi::pool_handles.enter(handle, record));
    if (entry == nullptr) continue;  // destroyed just now
    const bool has_it = entry->pool->has_address(address);
    const device::Device* its_device = &entry->pool->device();
    capi::HandleTable::leave(record);
    if (!has_it) continue;
    if (owner != 0 && its_device != device) {
      return base::Status(base::StatusCode::busy, std::to_string(address) +
                                                      " lies in memory of several devices, whose addresses overlap; "
                                                      "name the pool");
    }
    owner = handle;
    device = its_device;
  }
  if (owner == 0) return base::not_found("no pool of this process has memory at " + std::to_string(address));
  return owner;
}

// Calls action(owner's handle) with no handle in use.
template <typename Action>
cistern_status_t with_owner(cistern_address_t address, std::string_view function, const Action& action) noexcept {
  capi::ThreadRecord* record = capi::this_thread_record();
  if (record == nullptr) return capi::refuse_without_record();
  if (record->handle_in_use.load(std::memory_order_relaxed) != capi::kNoHandle) return capi::refuse_nested(function);
  std::uint64_t owner = 0;
  const base::Status status = capi::without_exceptions([&]() -> base::Status {
    if (capi::was_forked()) return capi::explain_fork();
    auto found = find_owner(address, record);
    if (!found.is_ok()) return found.take_status();
    owner = found.value();
    return {};
  });
  if (!status.is_ok()) return capi::record_failure(status, function, nullptr);
  return action(owner);
}

}  // namespace

cistern_status_t cistern_get_context(cistern_pool_t* pool, cistern_context_info_t* info) noexcept {
  return capi::with_pool(pool, "cistern_get_context", [&](pool::Pool& inner) -> base::Status {
    const pool::ContextView view = inner.context();
    cistern_context_info_t known{};
    known.allocated_bytes = view.allocated_bytes;
    known.reserved_bytes = view.reserved_bytes;
    known.minimum_bytes = view.minimum_bytes;
    known.maximum_bytes = view.maximum_bytes;
    known.borrowed_bytes = view.borrowed_bytes;
    std::memcpy(known.name, view.name.data(), std::min(view.name.size(), sizeof known.name - 1));
    return capi::write_struct(known, "cistern_context_info", info);
  });
}

cistern_status_t cistern_get_device_share(cistern_device_t* device, cistern_device_share_t* share) noexcept {
  return capi::with_device(device, "cistern_get_device_share", [&](const auto& opened) -> base::Status {
    const pool::DeviceShare now = pool::ContextSet::of(opened)->share();
    cistern_device_share_t known{};
    known.contexts = static_cast<std::uint32_t>(now.contexts);
    known.capacity_bytes = now.capacity_bytes;
    known.promised_bytes = now.promised_bytes;
    known.reserved_bytes = now.reserved_bytes;
    known.borrowed_bytes = now.borrowed_bytes;
    known.lendable_bytes = now.lendable_bytes;
    return capi::write_struct(known, "cistern_device_share", share);
  });
}

cistern_status_t cistern_find_owner(cistern_address_t address, cistern_pool_t** pool) noexcept {
  if (pool == nullptr) {
    return capi::run("cistern_find_owner", [] { return base::invalid_argument("the place for the pool is NULL"); });
  }
  return with_owner(address, "cistern_find_owner", [&](std::uint64_t owner) {
    *pool = reinterpret_cast<cistern_pool_t*>(owner);
    return CISTERN_OK;
  });
}

cistern_status_t cistern_free_anywhere(cistern_address_t address) noexcept {
  if (address == 0) return CISTERN_OK;
  return with_owner(address, "cistern_free_anywhere", [&](std::uint64_t owner) {
    return capi::with_pool(reinterpret_cast<cistern_pool_t*>(owner), "cistern_free_anywhere",
                           [&](pool::Pool& inner) { return inner.free(address); });
  });
}
