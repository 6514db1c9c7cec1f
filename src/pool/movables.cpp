#include "pool/movables.hpp"

namespace cistern::pool {

MovableId Movables::add(device::Address address, std::uint64_t bytes, std::uint64_t alignment) {
  std::uint32_t number = 0;
  if (spare_.empty()) {
    entries_.emplace_back();
    number = static_cast<std::uint32_t>(entries_.size());
  } else {
    number = spare_.back();
    spare_.pop_back();
  }
  Movable& movable = entries_[number - 1];
  movable.address = address;
  movable.bytes = bytes;
  movable.alignment = alignment;
  movable.moves = 0;
  movable.pins = 0;
  ++movable.use;
  ++count_;
  bytes_ += bytes;
  return id_of(number);
}

Movable* Movables::find(MovableId id) noexcept {
  const std::uint32_t number = number_of(id);
  if (number == 0 || number > entries_.size()) return nullptr;
  Movable& movable = entries_[number - 1];
  return movable.use == id >> 32U && (movable.use & 1U) != 0 ? &movable : nullptr;
}

base::Status Movables::explain(MovableId id, std::string_view pool) const {
  const std::uint32_t number = number_of(id);
  const std::uint64_t use = id >> 32U;
  const std::string handle = "movable handle " + std::to_string(id) + " of pool '" + std::string(pool) + "'";
  if (number != 0 && number <= entries_.size() && (use & 1U) != 0 && use < entries_[number - 1].use) {
    return base::Status(base::StatusCode::double_free, handle + " was freed already");
  }
  return base::not_found(handle + " was never given out; use what movable_allocate returned, with the same pool");
}

void Movables::remove(MovableId id) noexcept {
  Movable& movable = entries_[number_of(id) - 1];
  if (movable.copy != nullptr) movable.copy->is_void_.store(true, std::memory_order_relaxed);
  movable.copy = nullptr;
  --count_;
  bytes_ -= movable.bytes;
  movable.address = 0;
  ++movable.use;
  spare_.push_back(number_of(id));
}

void Movables::pin(Movable* movable) noexcept {
  if (movable->pins++ != 0) return;
  pinned_bytes_ += movable->bytes;
  if (movable->copy != nullptr) movable->copy->is_void_.store(true, std::memory_order_relaxed);
}

void Movables::unpin(Movable* movable) noexcept {
  if (--movable->pins == 0) pinned_bytes_ -= movable->bytes;
}

bool Movables::begin_copy(MovableId id, CopyWatch* watch) noexcept {
  Movable* movable = find(id);
  if (movable == nullptr || movable->pins != 0 || movable->copy != nullptr) return false;
  movable->copy = watch;
  return true;
}

bool Movables::end_copy(MovableId id, const CopyWatch& watch) noexcept {
  Movable* movable = find(id);
  if (movable != nullptr) movable->copy = nullptr;
  return !watch.is_void();
}

}  // namespace cistern::pool
