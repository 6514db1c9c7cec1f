#include "engine/allocator_bridge.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/bits.hpp"
#include "base/log.hpp"

namespace cistern::engine {
namespace {

thread_local ModelAtWork* t_at_work = nullptr;

std::uint64_t now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// What two readings of the clock with nothing between them differ by: it is in every measurement, and comparable to a
// pool's own work.
std::uint64_t clock_cost_ns() noexcept {
  static const std::uint64_t cost = [] {
    constexpr std::uint64_t kReadings = 2000;
    const std::uint64_t start = now_ns();
    for (std::uint64_t i = 1; i < kReadings; ++i) static_cast<void>(now_ns());
    return (now_ns() - start) / kReadings;
  }();
  return cost;
}

std::uint64_t net_ns(std::uint64_t start) noexcept {
  const std::uint64_t gross = now_ns() - start;
  return gross - std::min(gross, clock_cost_ns());
}

void raise_to(std::atomic<std::uint64_t>& peak, std::uint64_t value) noexcept {
  std::uint64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

MemoryUsage& MemoryUsage::operator+=(const MemoryUsage& other) noexcept {
  weight_allocations += other.weight_allocations;
  weight_bytes += other.weight_bytes;
  activation_allocations += other.activation_allocations;
  activation_bytes += other.activation_bytes;
  frees += other.frees;
  peak_bytes = std::max(peak_bytes, other.peak_bytes);
  measured_ns += other.measured_ns;
  modelled_ns += other.modelled_ns;
  return *this;
}

AllocatorBridge::AllocatorBridge(const ort::MemoryInfo* info) noexcept : info_(info) {
  seen_.version = ort::kApiVersion;
  seen_.alloc = on_alloc;
  seen_.free = on_free;
  seen_.info = on_info;
  seen_.reserve = on_reserve;
  seen_.bridge = this;
  static_cast<void>(clock_cost_ns());
}

AllocatorBridge::~AllocatorBridge() {
  for (Shard& shard : shards_) {
    for (const auto& [memory, block] : shard.blocks) {
      void* mine = const_cast<void*>(memory);
      if (block.is_substitute) {
        std::free(mine);
      } else if (const base::Status freed = block.account->source->free(mine); !freed.is_ok()) {
        base::log(base::LogLevel::error, "engine", freed.to_string());
      }
    }
  }
}

std::string AllocatorBridge::first_misuse() const {
  const std::lock_guard lock(misuse_mutex_);
  return first_misuse_;
}

void* AllocatorBridge::on_alloc(ort::Allocator* self, std::size_t bytes) {
  const MemoryUse use = t_at_work != nullptr ? t_at_work->plain_use_ : MemoryUse::activations;
  return static_cast<Seen*>(self)->bridge->serve(bytes, use);
}

void* AllocatorBridge::on_reserve(ort::Allocator* self, std::size_t bytes) {
  return static_cast<Seen*>(self)->bridge->serve(bytes, MemoryUse::weights);
}

void AllocatorBridge::on_free(ort::Allocator* self, void* memory) {
  if (memory != nullptr) static_cast<Seen*>(self)->bridge->take_back(memory);
}

const ort::MemoryInfo* AllocatorBridge::on_info(const ort::Allocator* self) {
  return static_cast<const Seen*>(self)->bridge->info_;
}

void* AllocatorBridge::serve(std::size_t bytes, MemoryUse use) noexcept {
  if (bytes == 0) return nullptr;
  ModelAtWork* work = t_at_work;
  if (work == nullptr) {
    record_misuse("ONNX Runtime asked for " + std::to_string(bytes) + " bytes outside the work of any model");
    return substitute(bytes);
  }
  const auto& account = work->account_;
  const std::uint64_t start = now_ns();
  auto served = work->stream_ ? account->source->allocate_on(*work->stream_, bytes, use, account->context)
                              : account->source->allocate(bytes, use, account->context);
  work->usage_.measured_ns += net_ns(start);
  if (served.is_ok() && !remember(served.value(), {account, bytes, false})) {
    const base::Status ignored = account->source->free(served.value());
    static_cast<void>(ignored);
    served = base::Status(base::StatusCode::out_of_memory, "the host has no memory for the engine's own bookkeeping");
  }
  if (!served.is_ok()) {
    work->refuse(served.take_status());
    return substitute(bytes);
  }
  work->book_allocation(use, bytes);
  account->source->live().add(bytes);
  account->blocks.fetch_add(1, std::memory_order_relaxed);
  raise_to(account->peak_bytes, account->bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  return served.value();
}

void* AllocatorBridge::substitute(std::size_t bytes) noexcept {
  constexpr std::size_t kAlignment = 512;
  if (bytes > ~std::size_t{0} - kAlignment) return nullptr;
  void* memory = std::aligned_alloc(kAlignment, base::round_up(bytes, kAlignment));
  if (memory != nullptr && !remember(memory, {nullptr, bytes, true})) {
    std::free(memory);
    return nullptr;
  }
  return memory;
}

bool AllocatorBridge::remember(const void* memory, Block block) noexcept {
  Shard& shard = shard_of(memory);
  const std::lock_guard lock(shard.mutex);
  try {
    shard.blocks.insert_or_assign(memory, std::move(block));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

std::optional<AllocatorBridge::Block> AllocatorBridge::forget(const void* memory) noexcept {
  Shard& shard = shard_of(memory);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.blocks.find(memory);
  if (found == shard.blocks.end()) return std::nullopt;
  Block block = std::move(found->second);
  shard.blocks.erase(found);
  return block;
}

void AllocatorBridge::take_back(void* memory) noexcept {
  const std::optional<Block> block = forget(memory);
  if (!block) {
    record_misuse("ONNX Runtime freed memory that it does not hold: freed before, or never allocated here");
    return;
  }
  if (block->is_substitute) {
    std::free(memory);
    return;
  }
  ModelAccount& account = *block->account;
  const std::uint64_t start = now_ns();
  ModelAtWork* work = t_at_work;
  const base::Status freed =
      work != nullptr && work->stream_ ? account.source->free_on(*work->stream_, memory) : account.source->free(memory);
  const std::uint64_t spent = net_ns(start);
  if (!freed.is_ok()) {
    record_misuse("the memory source of " + account.context.name + " refused a free: " + freed.to_string());
  }
  account.source->live().take(block->bytes);
  account.blocks.fetch_sub(1, std::memory_order_relaxed);
  account.bytes.fetch_sub(block->bytes, std::memory_order_relaxed);
  if (work != nullptr) work->book_free(block->bytes, spent);
}

void AllocatorBridge::record_misuse(const std::string& text) noexcept {
  if (misuses_.fetch_add(1) == 0) {
    const std::lock_guard lock(misuse_mutex_);
    first_misuse_ = text;
  }
  base::log(base::LogLevel::error, "engine", text);
}

AllocatorBridge::Shard& AllocatorBridge::shard_of(const void* memory) noexcept {
  // Blocks are at least 512 bytes apart on devices; the multiplication spreads the bits above.
  const std::uint64_t granule = reinterpret_cast<std::uint64_t>(memory) >> 6;
  return shards_[(granule * 0x9e3779b97f4a7c15ULL) >> 60];
}

ModelAtWork::ModelAtWork(std::shared_ptr<ModelAccount> account, MemoryUse plain_use,
                         std::optional<device::StreamHandle> stream) noexcept
    : account_(std::move(account)),
      outer_(t_at_work),
      plain_use_(plain_use),
      stream_(stream),
      modelled_at_start_(account_->source->modelled_ns()) {
  t_at_work = this;
}

ModelAtWork::~ModelAtWork() { t_at_work = outer_; }

void ModelAtWork::book_allocation(MemoryUse use, std::uint64_t bytes) noexcept {
  if (use == MemoryUse::weights) {
    ++usage_.weight_allocations;
    usage_.weight_bytes += bytes;
  } else {
    ++usage_.activation_allocations;
    usage_.activation_bytes += bytes;
  }
  held_bytes_ += bytes;
  usage_.peak_bytes = std::max(usage_.peak_bytes, held_bytes_);
}

// What an earlier work allocated and this one frees is not in what this one holds.
void ModelAtWork::book_free(std::uint64_t bytes, std::uint64_t spent_ns) noexcept {
  ++usage_.frees;
  usage_.measured_ns += spent_ns;
  held_bytes_ -= std::min(held_bytes_, bytes);
}

void ModelAtWork::refuse(base::Status failure) noexcept {
  if (!failure_.is_ok()) return;
  failure_ = std::move(failure);
  if (run_ == nullptr) return;
  const base::Status ended = engine::take_failure(*calls_, calls_->terminate_run(run_));
  if (!ended.is_ok()) base::log(base::LogLevel::warning, "engine", ended.to_string());
}

MemoryUsage ModelAtWork::usage() const noexcept {
  MemoryUsage usage = usage_;
  usage.modelled_ns = account_->source->modelled_ns() - modelled_at_start_;
  return usage;
}

}  // namespace cistern::engine
