// Pressure callbacks in the C interface. A callback runs inside a call of the library and may call it: for the time,
// its thread has another record, so that the call around it stays announced and its pool can't go away.
#include "capi/entry.hpp"
#include "cistern/cistern.h"
#include "pool/pressure.hpp"

using namespace cistern;

namespace {

bool call_back(const pool::Pressure& pressure, cistern_pressure_callback_t callback, void* user) {
  const capi::NestedRecord nested;
  if (!nested.is_ready()) return false;  // the host has no memory even for this
  cistern_pressure_t known{};
  known.struct_size = sizeof known;
  known.by_own_limit = pressure.by_own_limit ? 1 : 0;
  known.pool = pressure.pool.c_str();
  known.device_kind = pressure.device_kind.c_str();
  known.device_ordinal = pressure.device_ordinal;
  known.requested_bytes = pressure.requested_bytes;
  known.missing_bytes = pressure.missing_bytes;
  return callback(&known, user) != 0;
}

}  // namespace

cistern_status_t cistern_add_pressure_callback(cistern_pool_t* pool, int32_t priority,
                                               cistern_pressure_callback_t callback, void* user,
                                               uint64_t* id) noexcept {
  return capi::with_pool(pool, "cistern_add_pressure_callback", [&](pool::Pool& inner) -> base::Status {
    if (callback == nullptr) return base::invalid_argument("the callback is NULL");
    if (id == nullptr) return base::invalid_argument("the place for the number is NULL");
    *id = inner.add_pressure_callback(
        priority, [callback, user](const pool::Pressure& pressure) { return call_back(pressure, callback, user); });
    return {};
  });
}

cistern_status_t cistern_remove_pressure_callback(cistern_pool_t* pool, uint64_t id) noexcept {
  return capi::with_pool(pool, "cistern_remove_pressure_callback",
                         [&](pool::Pool& inner) { return inner.remove_pressure_callback(id); });
}
