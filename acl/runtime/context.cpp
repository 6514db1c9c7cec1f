#include "acl/runtime/context.hpp"

#include <chrono>
#include <condition_variable>
#include <utility>

namespace cistern::acl {
namespace {

void run_and_delete(void* user) {
  const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(user));
  (*work)();
}

Outcome run_guarded(const std::function<Outcome()>& work) {
  try {
    return work();
  } catch (...) {
    return outcome_of_exception();
  }
}

// Set by a stream when it comes to it.
struct Signal {
  std::mutex mutex;
  std::condition_variable arrived;
  bool is_set = false;
};

}  // namespace

Outcome Context::default_stream(std::shared_ptr<Stream>* stream) {
  const std::lock_guard lock(mutex_);
  if (default_stream_ == nullptr) {
    Outcome created = Stream::create(npu, pool, "default stream of " + name, nullptr, &default_stream_);
    if (!created.is_ok()) return created;
  }
  *stream = default_stream_;
  return {};
}

std::shared_ptr<Stream> Context::take_default_stream() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(default_stream_, nullptr);
}

Outcome Stream::create(const std::shared_ptr<Npu>& npu, std::shared_ptr<DevicePool> pool, std::string name,
                       const void* caller, std::shared_ptr<Stream>* stream) {
  cistern_stream_t number = 0;
  const cistern_status_t status = cistern_stream_create(npu->handle(), &number);
  if (status != CISTERN_OK) return outcome_of_call(status);
  stream->reset(new Stream(npu, std::move(pool), number, std::move(name), caller));
  return {};
}

Stream::Stream(std::shared_ptr<Npu> npu, std::shared_ptr<DevicePool> pool, cistern_stream_t number, std::string name,
               const void* caller)
    : npu_(std::move(npu)), pool_(std::move(pool)), number_(number), name_(std::move(name)), caller_(caller) {}

Stream::~Stream() {
  static_cast<void>(cistern_forget_stream(pool_->handle(), number_));
  static_cast<void>(cistern_stream_destroy(npu_->handle(), number_));
}

Outcome Stream::submit(std::function<Outcome()> work) {
  // The work keeps what it needs, but not the stream: a stream that ends does not wait for its own work.
  auto boxed = std::make_unique<std::function<void()>>([weak = weak_from_this(), work = std::move(work)] {
    Outcome outcome = run_guarded(work);
    if (outcome.is_ok()) return;
    if (const std::shared_ptr<Stream> stream = weak.lock()) {
      stream->keep_failure(std::move(outcome));
    } else {
      log(base::LogLevel::warning, "work of a destroyed stream failed: " + outcome.text());
    }
  });
  const cistern_status_t status = cistern_stream_call(npu_->handle(), number_, &run_and_delete, boxed.get());
  if (status != CISTERN_OK) return outcome_of_call(status);
  static_cast<void>(boxed.release());  // the stream's now
  return {};
}

void Stream::keep_failure(Outcome failure) {
  const std::lock_guard lock(mutex_);
  if (failure_.is_ok()) failure_ = std::move(failure);
}

Outcome Stream::synchronize(std::int32_t timeout_ms) {
  if (Outcome waited = wait(timeout_ms); !waited.is_ok()) return waited;
  const std::lock_guard lock(mutex_);
  const Outcome failure = std::exchange(failure_, Outcome());
  if (failure.is_ok()) return {};
  return {failure.code(), "work of " + name_ + " failed before: " + failure.text()};
}

Outcome Stream::wait(std::int32_t timeout_ms) {
  if (timeout_ms < 0) return outcome_of_call(cistern_stream_wait(npu_->handle(), number_));
  auto signal = std::make_shared<Signal>();
  Outcome submitted = submit([signal]() -> Outcome {
    const std::lock_guard lock(signal->mutex);
    signal->is_set = true;
    signal->arrived.notify_all();
    return {};
  });
  if (!submitted.is_ok()) return submitted;
  std::unique_lock lock(signal->mutex);
  if (signal->arrived.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return signal->is_set; })) return {};
  return {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
          "work of " + name_ + " was not complete after " + std::to_string(timeout_ms) + " ms"};
}

Outcome Stream::is_idle(bool* idle) {
  device::Device& device = npu_->device();
  auto event = device.create_event();
  if (!event.is_ok()) return outcome_of(event.status());
  base::Status recorded = device.record_event(event.value(), number_);
  auto complete = recorded.is_ok() ? device.query_event(event.value()) : base::Result<bool>(std::move(recorded));
  const base::Status destroyed = device.destroy_event(event.value());
  if (!complete.is_ok()) return outcome_of(complete.status());
  *idle = complete.value();
  return outcome_of(destroyed);
}

}  // namespace cistern::acl
