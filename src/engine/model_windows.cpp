#include "engine/model_windows.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/bits.hpp"
#include "base/units.hpp"

namespace cistern::engine {
namespace {

constexpr std::uint64_t kPlacePageBytes = 4096;
constexpr std::uint64_t kProbeBytes = 256 * base::kGiB;  // of addresses, for each window

}  // namespace

base::Status Window::open(std::uint64_t bytes) noexcept {
  core::SuballocatorConfig config;
  config.range_bytes = std::max(base::round_up(bytes, kPlacePageBytes), kPlacePageBytes);
  config.page_bytes = kPlacePageBytes;
  config.policy = core::FitPolicy::first_fit;
  config.starts_filled = true;
  auto created = core::Suballocator::create(config);
  if (!created.is_ok()) return created.take_status();
  places_ = created.take();
  bytes_ = bytes;
  return {};
}

base::Result<void*> Window::allocate(std::size_t bytes) noexcept {
  const core::BlockIndex block = places_->allocate(bytes, core::kGranuleBytes);
  const std::uint64_t end = block == core::kNoBlock ? 0 : places_->range_of_live(block).end();
  if (block != core::kNoBlock && end <= bytes_) {
    high_water_ = std::max(high_water_, end);
    return static_cast<void*>(base_ + places_->range_of_live(block).offset);
  }
  if (block != core::kNoBlock) static_cast<void>(places_->release(block));
  return base::Status(base::StatusCode::limit_exceeded,
                      "the model's " + std::string(name_) + " window of " + base::format_bytes(bytes_) +
                          " has no room for " + std::to_string(bytes) + " bytes more (" +
                          base::format_bytes(places_->totals().live_bytes) + " are in use)");
}

bool Window::release(const void* memory) noexcept {
  const auto* const at = static_cast<const std::byte*>(memory);
  if (base_ == nullptr || std::less<>{}(at, base_) || !std::less<>{}(at, base_ + places_->config().range_bytes)) {
    return false;
  }
  const core::BlockIndex block = places_->find_live(static_cast<std::uint64_t>(at - base_));
  return block != core::kNoBlock && places_->release(block);
}

base::Status ModelWindows::open(std::uint64_t weight_bytes, std::uint64_t work_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (base::Status failed = weights_.open(weight_bytes); !failed.is_ok()) return failed;
  return work_.open(work_bytes);
}

void ModelWindows::place_weights(std::byte* base) noexcept {
  const std::lock_guard lock(mutex_);
  weights_.place(base);
}

void ModelWindows::place_work(std::byte* base) noexcept {
  const std::lock_guard lock(mutex_);
  work_.place(base);
}

std::uint64_t ModelWindows::weight_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return weights_.high_water_bytes();
}

std::uint64_t ModelWindows::work_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return work_.high_water_bytes();
}

base::Result<void*> ModelWindows::allocate(std::size_t bytes, MemoryUse use, const ModelContext& /*model*/) noexcept {
  const std::lock_guard lock(mutex_);
  return (use == MemoryUse::weights ? weights_ : work_).allocate(bytes);
}

base::Status ModelWindows::free(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (weights_.release(memory) || work_.release(memory)) return {};
  return base::not_found("the engine gave back memory that it never had of the model's windows");
}

base::Result<std::shared_ptr<ModelWindows>> ProbeWindows::create() noexcept {
  void* const addresses =
      ::mmap(nullptr, 2 * kProbeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) {
    return base::Status(base::StatusCode::out_of_memory,
                        std::string("no addresses to measure the model in: ") + std::strerror(errno));
  }
  std::shared_ptr<ModelWindows> memory(new ModelWindows, [addresses](const ModelWindows* ended) {
    delete ended;
    static_cast<void>(::munmap(addresses, 2 * kProbeBytes));
  });
  if (base::Status failed = memory->open(kProbeBytes, kProbeBytes); !failed.is_ok()) return failed;
  auto* const base = static_cast<std::byte*>(addresses);
  memory->place_weights(base);
  memory->place_work(base + kProbeBytes);
  return memory;
}

}  // namespace cistern::engine
