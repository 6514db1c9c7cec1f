// MovableBuffer and Pin: movable blocks (movable.h) as objects. Part of cistern.hpp, which includes this file.
#pragma once

#include <cstdint>
#include <utility>

#include "cistern/movable.h"
#include "cistern/outcome.hpp"

namespace cistern {

// While it lives, the block stays at get(). Must not outlive its MovableBuffer, which can't be freed meanwhile.
class Pin {
 public:
  Pin() noexcept = default;
  Pin(Pin&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        movable_(std::exchange(other.movable_, 0)),
        address_(std::exchange(other.address_, 0)) {}
  Pin& operator=(Pin&& other) noexcept {
    if (this != &other) {
      unpin();
      pool_ = std::exchange(other.pool_, nullptr);
      movable_ = std::exchange(other.movable_, 0);
      address_ = std::exchange(other.address_, 0);
    }
    return *this;
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() { unpin(); }

  explicit operator bool() const noexcept { return movable_ != 0; }
  cistern_address_t get() const noexcept { return address_; }
  void unpin() noexcept {
    if (movable_ == 0) return;
    static_cast<void>(cistern_movable_unpin(pool_, movable_));
    pool_ = nullptr;
    movable_ = 0;
    address_ = 0;
  }

 private:
  friend class MovableBuffer;
  Pin(cistern_pool_t* pool, cistern_movable_t movable, cistern_address_t address) noexcept
      : pool_(pool), movable_(movable), address_(address) {}

  cistern_pool_t* pool_ = nullptr;
  cistern_movable_t movable_ = 0;
  cistern_address_t address_ = 0;
};

// A movable block that goes back to its pool with this object.
class MovableBuffer {
 public:
  MovableBuffer() noexcept = default;
  MovableBuffer(MovableBuffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        movable_(std::exchange(other.movable_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  MovableBuffer& operator=(MovableBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = std::exchange(other.pool_, nullptr);
      movable_ = std::exchange(other.movable_, 0);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  MovableBuffer(const MovableBuffer&) = delete;
  MovableBuffer& operator=(const MovableBuffer&) = delete;
  ~MovableBuffer() { reset(); }

  explicit operator bool() const noexcept { return movable_ != 0; }
  cistern_movable_t handle() const noexcept { return movable_; }
  std::uint64_t size() const noexcept { return bytes_; }  // as asked for

  Result<Pin> try_pin() const {
    cistern_address_t address = 0;
    Status status = Status::of(cistern_movable_pin(pool_, movable_, &address));
    if (!status.ok()) return status;
    return Pin(pool_, movable_, address);
  }
  // Frees the block now. CISTERN_BUSY while it is pinned: it stays this object's. The destructor has no such choice: a
  // block that is pinned then stays allocated until its pool ends, which logs it.
  Status try_free() {
    if (movable_ == 0) return {};
    Status status = Status::of(cistern_movable_free(pool_, movable_));
    if (status.code() != CISTERN_BUSY) forget();
    return status;
  }
  void reset() noexcept {
    if (movable_ != 0) static_cast<void>(cistern_movable_free(pool_, movable_));
    forget();
  }

#if CISTERN_HAS_EXCEPTIONS
  Pin pin() const { return try_pin().value(); }
  void free() { throw_unless_ok(try_free()); }
#endif

 private:
  friend class Pool;
  MovableBuffer(cistern_pool_t* pool, cistern_movable_t movable, std::uint64_t bytes) noexcept
      : pool_(pool), movable_(movable), bytes_(bytes) {}
  void forget() noexcept {
    pool_ = nullptr;
    movable_ = 0;
    bytes_ = 0;
  }

  cistern_pool_t* pool_ = nullptr;
  cistern_movable_t movable_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cistern
