#include "trace/trace.hpp"

#include <algorithm>

namespace cistern::trace {

std::string_view op_name(EventOp op) noexcept {
  switch (op) {
    case EventOp::allocate:
      return "alloc";
    case EventOp::free:
      return "free";
    case EventOp::fill:
      return "fill";
    case EventOp::vacate:
      return "vacate";
    case EventOp::driver_malloc:
      return "driver_new";
    case EventOp::driver_free:
      return "driver_free";
    case EventOp::out_of_memory:
      return "out_of_memory";
    case EventOp::pool_end:
      return "pool_end";
    case EventOp::move:
      return "move";
    case EventOp::mark:
      return "mark";
    case EventOp::resize:
      return "resize";
  }
  return "unknown";
}

const PoolName* Tables::pool(std::uint32_t id) const noexcept {
  const auto found = std::find_if(pools.begin(), pools.end(), [&](const PoolName& each) { return each.pool == id; });
  return found == pools.end() ? nullptr : &*found;
}

std::string Tables::tag_text(std::uint32_t of_pool, std::uint32_t tag) const {
  if (tag == 0) return {};
  for (const TagName& each : tags) {
    if (each.pool == of_pool && each.tag == tag) return each.text;
  }
  return "tag" + std::to_string(tag);
}

const Module* Tables::module_of(std::uint64_t address) const noexcept {
  const auto above = std::upper_bound(modules.begin(), modules.end(), address,
                                      [](std::uint64_t value, const Module& each) { return value < each.begin; });
  if (above == modules.begin()) return nullptr;
  const Module& module = *(above - 1);
  return address < module.end ? &module : nullptr;
}

}  // namespace cistern::trace
