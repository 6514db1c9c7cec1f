#include "replay/driver_time.hpp"

#include <cstdint>

#include "device/latency_model.hpp"

namespace cistern::replay {

double modelled_driver_ns(const device::DeviceCounters& calls) noexcept {
  const device::LatencyModel model;
  const auto cost = [](std::uint64_t times, std::uint64_t ns) {
    return static_cast<double>(times) * static_cast<double>(ns);
  };
  const std::uint64_t half_pair_ns = (model.malloc_free_pair_min_ns + model.malloc_free_pair_max_ns) / 4;
  return cost(calls.mallocs + calls.frees, half_pair_ns) + cost(calls.reserves + calls.releases, model.reserve_ns) +
         cost(calls.pages_created + calls.pages_destroyed, model.create_page_ns) + cost(calls.maps, model.map_ns) +
         cost(calls.unmaps, model.unmap_ns) + cost(calls.set_accesses, model.set_access_ns) +
         cost(calls.pages_moved, model.map_ns + model.unmap_ns) +
         static_cast<double>(calls.bytes_copied) * 1e9 / static_cast<double>(model.copy_bytes_per_second);
}

}  // namespace cistern::replay
