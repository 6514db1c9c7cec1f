#include "capi/allocation_struct.hpp"

#include <cstring>
#include <string>

#include "capi/versioned_struct.hpp"

namespace cistern::capi {
namespace {

static_assert(CISTERN_LIFETIME_TRANSIENT == static_cast<int>(pool::Lifetime::transient));
static_assert(CISTERN_LIFETIME_PERSISTENT == static_cast<int>(pool::Lifetime::persistent));
static_assert(CISTERN_LIFETIME_WEIGHTS == static_cast<int>(pool::Lifetime::weights));
static_assert(CISTERN_ALLOCATION_PINNED == static_cast<int>(pool::kFlagPinned));
static_assert(CISTERN_ALLOCATION_MOVABLE == static_cast<int>(pool::kFlagMovable));
static_assert(CISTERN_ALLOCATION_ELASTIC == static_cast<int>(pool::kFlagElastic));

}  // namespace

base::Status read_text(const char* given, std::string_view what, std::string_view* text) {
  if (given == nullptr) return {};
  const std::size_t length = strnlen(given, CISTERN_TEXT_BYTES);
  if (length == CISTERN_TEXT_BYTES) {
    return base::invalid_argument("the " + std::string(what) + " is longer than " +
                                  std::to_string(CISTERN_TEXT_BYTES - 1) + " bytes");
  }
  *text = std::string_view(given, length);
  return {};
}

base::Result<pool::AllocationRequest> read_allocation(pool::Pool& pool, const cistern_allocation_t* given) {
  cistern_allocation_t known{};
  if (base::Status wrong = read_struct(given, "cistern_allocation", &known); !wrong.is_ok()) return wrong;
  for (const std::uint32_t reserved : known.reserved) {
    if (reserved != 0) return base::unsupported("reserved fields of a cistern_allocation must be zero");
  }
  if (known.lifetime > CISTERN_LIFETIME_WEIGHTS) {
    return base::invalid_argument("lifetime " + std::to_string(known.lifetime) + " is not one of 0 to 2");
  }
  pool::AllocationRequest request;
  request.bytes = known.bytes;
  request.alignment = known.alignment;
  request.lifetime = static_cast<pool::Lifetime>(known.lifetime);
  request.flags = known.flags;
  std::string_view tag;
  if (base::Status wrong = read_text(known.tag, "tag", &tag); !wrong.is_ok()) return wrong;
  if (base::Status wrong = read_text(known.name, "name", &request.name); !wrong.is_ok()) return wrong;
  if (!tag.empty()) request.tag = pool.intern_tag(tag);
  return request;
}

}  // namespace cistern::capi
