#include "bench/contenders/cistern_pool.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "compact/stitcher.hpp"
#include "device/counting_device.hpp"
#include "device/page_pool.hpp"

namespace cistern::bench {

CisternPool::CisternPool(const PoolVariant& variant, std::uint64_t peak_live_bytes) {
  const std::shared_ptr<device::Device> device = device::CountingDevice::create().take();
  pool::PoolOptions options;
  options.policy = variant.policy;
  options.on_miss = variant.on_miss;
  options.magazine_bytes = variant.magazine_bytes;
  options.page_bytes = pool::choose_page_bytes(peak_live_bytes, device->info());
  auto pages = std::make_shared<device::PagePool>(*device, options.page_bytes);
  auto made = pool::Pool::create(device, std::move(pages), options, compact::rescue_steps(options.on_miss));
  if (!made.is_ok()) {
    std::fprintf(stderr, "no pool to measure: %s\n", made.status().to_string().c_str());
    std::abort();
  }
  pool_ = made.take();
}

}  // namespace cistern::bench
