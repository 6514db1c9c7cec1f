// ElasticBuffer: a buffer that grows and shrinks in place (elastic.h) as an object. Part of cistern.hpp, which includes
// this file.
#pragma once

#include <cstdint>
#include <utility>

#include "cistern/elastic.h"
#include "cistern/outcome.hpp"

namespace cistern {

// Must not outlive its pool. One thread at a time.
class ElasticBuffer {
 public:
  ElasticBuffer() noexcept = default;
  ElasticBuffer(ElasticBuffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        elastic_(std::exchange(other.elastic_, 0)),
        address_(std::exchange(other.address_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  ElasticBuffer& operator=(ElasticBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = std::exchange(other.pool_, nullptr);
      elastic_ = std::exchange(other.elastic_, 0);
      address_ = std::exchange(other.address_, 0);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ElasticBuffer(const ElasticBuffer&) = delete;
  ElasticBuffer& operator=(const ElasticBuffer&) = delete;
  ~ElasticBuffer() { reset(); }

  explicit operator bool() const noexcept { return elastic_ != 0; }
  cistern_elastic_t handle() const noexcept { return elastic_; }
  cistern_address_t get() const noexcept { return address_; }  // the same for as long as the buffer lives
  std::uint64_t size() const noexcept { return bytes_; }

  Status try_grow(std::uint64_t to) { return resized(cistern_elastic_grow(pool_, elastic_, to), to); }
  Status try_shrink(std::uint64_t to) { return resized(cistern_elastic_shrink(pool_, elastic_, to), to); }
  void reset() noexcept {
    if (elastic_ != 0) static_cast<void>(cistern_elastic_release(pool_, elastic_));
    pool_ = nullptr;
    elastic_ = 0;
    address_ = 0;
    bytes_ = 0;
  }

#if CISTERN_HAS_EXCEPTIONS
  void grow(std::uint64_t to) { throw_unless_ok(try_grow(to)); }
  void shrink(std::uint64_t to) { throw_unless_ok(try_shrink(to)); }
#endif

 private:
  friend class Pool;
  ElasticBuffer(cistern_pool_t* pool, cistern_elastic_t elastic, cistern_address_t address) noexcept
      : pool_(pool), elastic_(elastic), address_(address) {}
  Status resized(cistern_status_t status, std::uint64_t to) {
    if (status == CISTERN_OK) bytes_ = to;
    return Status::of(status);
  }

  cistern_pool_t* pool_ = nullptr;
  cistern_elastic_t elastic_ = 0;
  cistern_address_t address_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cistern
