#include "acl/runtime/event.hpp"

#include <chrono>
#include <utility>

namespace cistern::acl {
namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Outcome Event::create(std::shared_ptr<Npu> npu, const void* caller, std::shared_ptr<Event>* event) {
  auto handle = npu->device().create_event();
  if (!handle.is_ok()) return outcome_of(handle.status());
  event->reset(new Event(std::move(npu), caller, handle.value()));
  return {};
}

Event::~Event() { static_cast<void>(npu_->device().destroy_event(handle_).is_ok()); }

std::shared_ptr<Event::Mark> Event::mark() const {
  const std::lock_guard lock(mutex_);
  return mark_;
}

Outcome Event::check_device(const Stream& stream) const {
  if (stream.npu()->ordinal() == npu_->ordinal()) return {};
  return {ACL_ERROR_RT_STREAM_CONTEXT, stream.name() + " is of device " + std::to_string(stream.npu()->ordinal()) +
                                           ", the event of device " + std::to_string(npu_->ordinal())};
}

Outcome Event::record(Stream& stream) {
  if (Outcome wrong = check_device(stream); !wrong.is_ok()) return wrong;
  auto mark = std::make_shared<Mark>();
  Outcome submitted = stream.submit([mark]() -> Outcome {
    mark->reached_ns.store(now_ns(), std::memory_order_release);
    return {};
  });
  if (!submitted.is_ok()) return submitted;
  const base::Status recorded = npu_->device().record_event(handle_, stream.number());
  if (!recorded.is_ok()) return outcome_of(recorded);
  const std::lock_guard lock(mutex_);
  mark_ = std::move(mark);
  return {};
}

void Event::reset() noexcept {
  const std::lock_guard lock(mutex_);
  mark_.reset();
}

Outcome Event::make_wait(Stream& stream) {
  if (Outcome wrong = check_device(stream); !wrong.is_ok()) return wrong;
  if (mark() == nullptr) return {};  // nothing to wait for
  return outcome_of(npu_->device().stream_wait_event(stream.number(), handle_));
}

Outcome Event::wait() {
  if (mark() == nullptr) return {};
  return outcome_of(npu_->device().wait_event(handle_));
}

Outcome Event::is_complete(bool* complete) {
  if (mark() == nullptr) {
    *complete = false;
    return {};
  }
  auto asked = npu_->device().query_event(handle_);
  if (!asked.is_ok()) return outcome_of(asked.status());
  *complete = asked.value();
  return {};
}

Outcome Event::elapsed(const Event& start, const Event& end, float* ms) {
  const std::shared_ptr<Mark> from = start.mark();
  const std::shared_ptr<Mark> to = end.mark();
  if (from == nullptr || to == nullptr) {
    return {ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
            std::string("the ") + (from == nullptr ? "start" : "end") + " event was never recorded"};
  }
  const std::int64_t from_ns = from->reached_ns.load(std::memory_order_acquire);
  const std::int64_t to_ns = to->reached_ns.load(std::memory_order_acquire);
  if (from_ns == 0 || to_ns == 0) {
    return {ACL_ERROR_RT_EVENT_NOT_COMPLETE,
            std::string("the ") + (from_ns == 0 ? "start" : "end") + " event is not complete; synchronise it first"};
  }
  if (to_ns < from_ns)
    return {ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end event was reached before the start event"};
  *ms = static_cast<float>(static_cast<double>(to_ns - from_ns) / 1e6);
  return {};
}

}  // namespace cistern::acl
