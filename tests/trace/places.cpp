#include "trace/places.hpp"

#include <cstdlib>

namespace {

// A call in the last line would leave no frame behind.
cistern::device::Address checked(const cistern::base::Result<cistern::device::Address>& served) {
  if (!served.is_ok()) std::abort();
  return served.value();
}

}  // namespace

cistern::device::Address place_of_weights(cistern::pool::Pool* pool, std::uint64_t bytes) {
  cistern::pool::AllocationRequest request;
  request.bytes = bytes;
  request.tag = pool->intern_tag("weights");
  return checked(pool->allocate(request));
}

cistern::device::Address place_of_requests(cistern::pool::Pool* pool, std::uint64_t bytes) {
  cistern::pool::AllocationRequest request;
  request.bytes = bytes;
  return checked(pool->allocate(request));
}

void deallocate_place(cistern::pool::Pool* pool, cistern::device::Address address) {
  if (!pool->free(address).is_ok()) std::abort();
}
