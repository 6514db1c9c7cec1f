// Movable blocks in the C interface: handles in and out, the rest is the pool's.
#include "capi/allocation_struct.hpp"
#include "capi/entry.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"

using namespace cistern;

cistern_status_t cistern_movable_allocate(cistern_pool_t* pool, const cistern_allocation_t* allocation,
                                          cistern_movable_t* movable) noexcept {
  return capi::with_pool(pool, "cistern_movable_allocate", [&](pool::Pool& inner) -> base::Status {
    if (movable == nullptr) return base::invalid_argument("the place for the handle is NULL");
    auto request = capi::read_allocation(inner, allocation);
    if (!request.is_ok()) return request.take_status();
    auto served = inner.allocate_movable(request.value());
    if (!served.is_ok()) return served.take_status();
    *movable = served.value();
    return {};
  });
}

cistern_status_t cistern_movable_free(cistern_pool_t* pool, cistern_movable_t movable) noexcept {
  return capi::with_pool(pool, "cistern_movable_free", [&](pool::Pool& inner) -> base::Status {
    return movable == 0 ? base::Status() : inner.free_movable(movable);
  });
}

cistern_status_t cistern_movable_pin(cistern_pool_t* pool, cistern_movable_t movable,
                                     cistern_address_t* address) noexcept {
  return capi::with_pool(pool, "cistern_movable_pin", [&](pool::Pool& inner) -> base::Status {
    if (address == nullptr) return base::invalid_argument("the place for the address is NULL");
    auto pinned = inner.pin(movable);
    if (!pinned.is_ok()) return pinned.take_status();
    *address = pinned.value();
    return {};
  });
}

cistern_status_t cistern_movable_unpin(cistern_pool_t* pool, cistern_movable_t movable) noexcept {
  return capi::with_pool(pool, "cistern_movable_unpin", [&](pool::Pool& inner) { return inner.unpin(movable); });
}

cistern_status_t cistern_movable_describe(cistern_pool_t* pool, cistern_movable_t movable,
                                          cistern_movable_info_t* info) noexcept {
  return capi::with_pool(pool, "cistern_movable_describe", [&](pool::Pool& inner) -> base::Status {
    const auto found = inner.describe_movable(movable);
    if (!found.is_ok()) return found.status();
    const pool::MovableView& view = found.value();
    cistern_movable_info_t known{};
    known.pins = view.pins;
    known.address = view.block.address;
    known.requested_bytes = view.block.requested_bytes;
    known.granted_bytes = view.block.granted_bytes;
    known.moves = view.moves;
    return capi::write_struct(known, "cistern_movable_info", info);
  });
}
