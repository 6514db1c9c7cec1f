#include "capi/handle_table.hpp"

#include <cstdio>
#include <new>
#include <string>

#include "capi/fork_guard.hpp"

namespace cistern::capi {
namespace {

static_assert(sizeof(void*) == sizeof(std::uint64_t), "handles put a mark where a 64-bit pointer has none");

std::string_view kind_name(HandleKind kind) noexcept { return kind == HandleKind::device ? "device" : "pool"; }

std::string_view maker_of(HandleKind kind) noexcept {
  return kind == HandleKind::device ? "cistern_device_open()" : "cistern_pool_create()";
}

}  // namespace

base::Result<std::uint64_t> HandleTable::issue(void* object) {
  const std::lock_guard guard(mutex_);
  std::uint64_t index = used_;
  if (first_spare_ != 0) {
    index = first_spare_ - 1;
    first_spare_ = slot_of(place_of(index))->next_spare;
  } else if (used_ == std::uint64_t{1} << kIndexBits) {
    return base::Status(base::StatusCode::limit_exceeded, "there are " + std::to_string(used_) + " open " +
                                                              std::string(kind_name(kind_)) + " handles already");
  } else {
    std::atomic<Chunk*>& chunk = chunks_[index >> kChunkBits];
    if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Chunk, std::memory_order_release);
    ++used_;
  }
  Slot& slot = *slot_of(place_of(index));
  const std::uint64_t generation = (slot.word.load(std::memory_order_relaxed) / 2 + 1) & kGenerationMask;
  const std::uint64_t handle = place_of(index) | (generation << kIndexBits);
  slot.object = object;
  slot.word.store(live_word(handle), std::memory_order_release);
  return handle;
}

void* HandleTable::withdraw(std::uint64_t handle) noexcept {
  Slot* slot = slot_of(handle);
  if (slot == nullptr) return nullptr;
  std::uint64_t expected = live_word(handle);
  // Of several threads that destroy one handle at once, the first gets the object.
  if (!slot->word.compare_exchange_strong(expected, expected - 1, std::memory_order_acq_rel)) return nullptr;
  wait_until_unused(handle);
  void* object = slot->object;
  slot->object = nullptr;
  const std::lock_guard guard(mutex_);
  slot->next_spare = first_spare_;
  first_spare_ = index_of(handle) + 1;
  return object;
}

std::uint64_t HandleTable::places() {
  const std::lock_guard guard(mutex_);
  return used_;
}

std::uint64_t HandleTable::handle_at(std::uint64_t place) const noexcept {
  const Slot* slot = slot_of(place_of(place));
  const std::uint64_t word = slot == nullptr ? 0 : slot->word.load(std::memory_order_acquire);
  return (word & 1) == 0 ? 0 : place_of(place) | (word / 2 << kIndexBits);
}

void HandleTable::abandon() noexcept {
  for (std::uint64_t place = 0; place < used_; ++place) {
    std::atomic<std::uint64_t>& word = slot_of(place_of(place))->word;
    word.store(word.load(std::memory_order_relaxed) & ~std::uint64_t{1}, std::memory_order_relaxed);
  }
}

base::Status HandleTable::explain(std::uint64_t handle) const {
  const std::string kind(kind_name(kind_));
  if (handle == 0) return base::invalid_argument("the " + kind + " is NULL");
  const Slot* slot = slot_of(handle);
  const std::uint64_t last = slot == nullptr ? 0 : slot->word.load(std::memory_order_acquire) / 2;
  if (generation_of(handle) != 0 && generation_of(handle) <= last) {
    if (was_forked()) return explain_fork();
    return base::invalid_argument("the " + kind + " was destroyed; its handle may not be used any more");
  }
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(handle));
  const HandleKind other = kind_ == HandleKind::pool ? HandleKind::device : HandleKind::pool;
  if (handle >> kKindShift == static_cast<std::uint64_t>(other)) {
    return base::invalid_argument(std::string(text) + " is a " + std::string(kind_name(other)) + ", not a " + kind);
  }
  return base::invalid_argument(std::string(text) + " is no handle of a " + kind + "; " + std::string(maker_of(kind_)) +
                                " gives them");
}

}  // namespace cistern::capi
