#include "replay/memory_way.hpp"

#include "compact/stitcher.hpp"

namespace cistern::replay {

base::Result<std::unique_ptr<PooledWay>> PooledWay::create(std::shared_ptr<device::Device> device,
                                                           const pool::PoolOptions& options,
                                                           std::shared_ptr<pool::Observer> observer) {
  pool::PoolOptions in_force = options;
  const std::uint64_t limit = options.limit_bytes == 0 ? device->info().total_bytes : options.limit_bytes;
  in_force.clock = &still_clock();
  if (in_force.page_bytes == 0) in_force.page_bytes = pool::choose_page_bytes(limit, device->info());
  auto pages = std::make_shared<device::PagePool>(*device, in_force.page_bytes);
  auto pool = pool::Pool::create(device, std::move(pages), in_force, compact::rescue_steps(options.on_miss),
                                 std::move(observer));
  if (!pool.is_ok()) return pool.take_status();
  return std::unique_ptr<PooledWay>(new PooledWay(std::move(device), pool.take()));
}

base::Status PooledWay::extend(std::uint32_t buffer, std::uint64_t bytes) noexcept {
  if (buffers_.size() < buffer) buffers_.resize(buffer);
  Buffer& grown = buffers_[buffer - 1];
  if (grown.id == 0) {
    auto made = pool_->reserve_elastic(buffer_max_bytes_);
    if (!made.is_ok()) return made.take_status();
    grown.id = made.value().id;
  }
  base::Status status = pool_->grow_elastic(grown.id, grown.bytes + bytes);
  if (status.is_ok()) grown.bytes += bytes;
  return status;
}

base::Status PooledWay::release_buffers() noexcept {
  base::Status first;
  for (const Buffer& buffer : buffers_) {
    base::Status released = buffer.id == 0 ? base::Status{} : pool_->release_elastic(buffer.id);
    if (first.is_ok() && !released.is_ok()) first = std::move(released);
  }
  buffers_.clear();
  return first;
}

const base::Clock& still_clock() noexcept {
  static const base::ManualClock kClock;
  return kClock;
}

std::uint64_t driver_calls(const device::DeviceCounters& counters) noexcept {
  return counters.mallocs + counters.frees + counters.reserves + counters.releases + counters.pages_created +
         counters.pages_destroyed + counters.maps + counters.unmaps + counters.set_accesses + counters.pages_moved;
}

}  // namespace cistern::replay
