#include "pool/observed.hpp"

#include "base/bits.hpp"
#include "pool/serve.hpp"

namespace cistern::pool {

base::Result<device::Address> allocate_observed(PoolCore& pool, const AllocationRequest& request, const void* caller) {
  auto served = serve(pool, request);
  Event event;
  event.requested_bytes = request.bytes;
  event.tag = request.tag;
  event.stream = static_cast<std::uint32_t>(request.stream.value_or(0));
  event.caller = caller;
  if (served.is_ok()) {
    event.address = served.value();
    event.granted_bytes = base::round_up(request.bytes + pool.rules.red_zone_bytes, pool.rules.round_bytes);
  } else {
    const base::StatusCode code = served.status().code();
    if (code != base::StatusCode::out_of_memory && code != base::StatusCode::limit_exceeded) return served;
    event.op = EventOp::out_of_memory;
  }
  event.sequence = pool.observer->next_sequence();
  pool.observer->on_event(event);
  return served;
}

base::Status free_observed(PoolCore& pool, device::Address address, std::optional<device::StreamHandle> stream,
                           const void* caller) {
  Event event;
  event.op = EventOp::free;
  event.stream = static_cast<std::uint32_t>(stream.value_or(0));
  event.address = address;
  event.caller = caller;
  event.sequence = pool.observer->next_sequence();  // before anybody else can get the block
  base::Status freed = stream ? give_up_on(pool, address, stream) : give_up(pool, address);
  if (freed.is_ok()) {
    pool.observer->on_event(event);
  } else {
    pool.observer->abandon_sequence();
  }
  return freed;
}

void observe_move(const PoolCore& pool, device::Address from, device::Address to, std::uint64_t bytes) noexcept {
  if (!pool.observer) return;
  Event event;
  event.op = EventOp::move;
  event.address = to;
  event.requested_bytes = from;
  event.granted_bytes = bytes;
  event.sequence = pool.observer->next_sequence();
  pool.observer->on_event(event);
}

void observe_range(const PoolCore& pool, EventOp op, device::Address address, std::uint64_t bytes) noexcept {
  if (!pool.observer) return;
  Event event;
  event.op = op;
  event.address = address;
  event.granted_bytes = bytes;
  event.sequence = pool.observer->next_sequence();
  pool.observer->on_event(event);
}

}  // namespace cistern::pool
