// Context: what a thread works in: an NPU, a pool of its own, a default stream. Stream: a queue of the NPU's work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "acl/runtime/npu.hpp"
#include "acl/runtime/outcome.hpp"

namespace cistern::acl {

class Stream;

struct Context {
  std::shared_ptr<Npu> npu;
  std::shared_ptr<DevicePool> pool;
  std::string name;              // "context 2", "default context of device 0"
  const void* caller = nullptr;  // who created it
  bool is_default = false;
  // The stream that NULL means; made when first asked for. Internally synchronised.
  Outcome default_stream(std::shared_ptr<Stream>* stream);
  // Null: it was never asked for.
  std::shared_ptr<Stream> take_default_stream() noexcept;

 private:
  std::mutex mutex_;
  std::shared_ptr<Stream> default_stream_;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  static Outcome create(const std::shared_ptr<Npu>& npu, std::shared_ptr<DevicePool> pool, std::string name,
                        const void* caller, std::shared_ptr<Stream>* stream);
  // Does not wait: the device finishes what was submitted.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const std::shared_ptr<Npu>& npu() const noexcept { return npu_; }
  const DevicePool& pool() const noexcept { return *pool_; }
  cistern_stream_t number() const noexcept { return number_; }
  const std::string& name() const noexcept { return name_; }
  const void* caller() const noexcept { return caller_; }

  // Runs work() -> Outcome in the stream's order; its failure is kept for the next synchronisation.
  Outcome submit(std::function<Outcome()> work);
  // All work submitted before is complete, or `timeout_ms` have passed (-1: no limit). The first failure since the
  // last synchronisation is the outcome.
  Outcome synchronize(std::int32_t timeout_ms);
  Outcome is_idle(bool* idle);
  void keep_failure(Outcome failure);

 private:
  Stream(std::shared_ptr<Npu> npu, std::shared_ptr<DevicePool> pool, cistern_stream_t number, std::string name,
         const void* caller);
  Outcome wait(std::int32_t timeout_ms);

  const std::shared_ptr<Npu> npu_;
  const std::shared_ptr<DevicePool> pool_;
  const cistern_stream_t number_;
  const std::string name_;
  const void* const caller_;
  std::mutex mutex_;
  Outcome failure_;
};

}  // namespace cistern::acl
