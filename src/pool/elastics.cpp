#include "pool/elastics.hpp"

#include <algorithm>

namespace cistern::pool {

ElasticId Elastics::add(core::Range range, std::uint32_t tag) {
  Elastic& elastic = by_id_[++last_];
  elastic.range = range;
  elastic.tag = tag;
  return last_;
}

Elastic* Elastics::find(ElasticId id) noexcept {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

base::Status Elastics::explain(ElasticId id, std::string_view pool) const {
  const std::string buffer = "elastic buffer " + std::to_string(id) + " of pool '" + std::string(pool) + "'";
  if (id != 0 && id <= last_) return base::Status(base::StatusCode::double_free, buffer + " was released already");
  return base::not_found(buffer + " was never given out; use what elastic_reserve returned, with the same pool");
}

bool Elastics::is_rest(core::Range moving) const noexcept {
  return std::any_of(by_id_.begin(), by_id_.end(), [moving](const auto& each) {
    const Elastic& elastic = each.second;
    return !elastic.is_busy && elastic.stuck == 0 && moving.offset >= elastic.range.offset &&
           moving.end() <= elastic.range.end();
  });
}

}  // namespace cistern::pool
