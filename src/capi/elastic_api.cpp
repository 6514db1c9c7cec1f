// Elastic buffers in the C interface: handles in and out, the rest is the pool's.
#include "capi/entry.hpp"
#include "capi/versioned_struct.hpp"
#include "cistern/cistern.h"

using namespace cistern;

cistern_status_t cistern_elastic_reserve(cistern_pool_t* pool, uint64_t max_bytes, const char* tag,
                                         cistern_elastic_t* elastic, cistern_address_t* address) noexcept {
  return capi::with_pool(pool, "cistern_elastic_reserve", [&](pool::Pool& inner) -> base::Status {
    if (elastic == nullptr) return base::invalid_argument("the place for the handle is NULL");
    if (address == nullptr) return base::invalid_argument("the place for the address is NULL");
    const pool::TagId id = tag == nullptr || *tag == '\0' ? 0 : inner.intern_tag(tag);
    auto made = inner.reserve_elastic(max_bytes, id);
    if (!made.is_ok()) return made.take_status();
    *elastic = made.value().id;
    *address = made.value().address;
    return {};
  });
}

cistern_status_t cistern_elastic_grow(cistern_pool_t* pool, cistern_elastic_t elastic, uint64_t to) noexcept {
  return capi::with_pool(pool, "cistern_elastic_grow",
                         [&](pool::Pool& inner) { return inner.grow_elastic(elastic, to); });
}

cistern_status_t cistern_elastic_shrink(cistern_pool_t* pool, cistern_elastic_t elastic, uint64_t to) noexcept {
  return capi::with_pool(pool, "cistern_elastic_shrink",
                         [&](pool::Pool& inner) { return inner.shrink_elastic(elastic, to); });
}

cistern_status_t cistern_elastic_release(cistern_pool_t* pool, cistern_elastic_t elastic) noexcept {
  return capi::with_pool(pool, "cistern_elastic_release", [&](pool::Pool& inner) -> base::Status {
    return elastic == 0 ? base::Status() : inner.release_elastic(elastic);
  });
}

cistern_status_t cistern_elastic_describe(cistern_pool_t* pool, cistern_elastic_t elastic,
                                          cistern_elastic_info_t* info) noexcept {
  return capi::with_pool(pool, "cistern_elastic_describe", [&](pool::Pool& inner) -> base::Status {
    const auto found = inner.describe_elastic(elastic);
    if (!found.is_ok()) return found.status();
    cistern_elastic_info_t known{};
    known.address = found.value().address;
    known.bytes = found.value().bytes;
    known.backed_bytes = found.value().backed_bytes;
    known.max_bytes = found.value().max_bytes;
    return capi::write_struct(known, "cistern_elastic_info", info);
  });
}
