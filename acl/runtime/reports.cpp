#include "acl/runtime/reports.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace cistern::acl {

Outcome Reports::subscribe(std::uint64_t thread, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = subscriptions_.try_emplace(key_of(stream));
  if (!is_new) {
    return {ACL_ERROR_REPEAT_SUBSCRIBE, stream.name() + " has a thread already: " +
                                            std::to_string(place->second.thread) + "; unsubscribe it first"};
  }
  place->second.thread = thread;
  changed_.notify_all();
  return {};
}

Outcome Reports::unsubscribe(std::uint64_t thread, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto place = subscriptions_.find(key_of(stream));
  if (place == subscriptions_.end()) {
    return {ACL_ERROR_STREAM_NOT_SUBSCRIBE, "no thread has subscribed to the callbacks of " + stream.name()};
  }
  if (place->second.thread != thread) {
    return {ACL_ERROR_THREAD_NOT_SUBSCRIBE, "thread " + std::to_string(thread) + " has not subscribed to " +
                                                stream.name() + ", thread " + std::to_string(place->second.thread) +
                                                " has"};
  }
  static_cast<void>(cancel(place->first));
  return {};
}

void Reports::forget(const Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  static_cast<void>(cancel(key_of(stream)));
}

bool Reports::cancel(StreamKey stream) {
  const auto place = subscriptions_.find(stream);
  if (place == subscriptions_.end()) return false;
  for (const auto& report : place->second.queue) report->state = State::cancelled;
  subscriptions_.erase(place);
  changed_.notify_all();
  return true;
}

Outcome Reports::launch(aclrtCallback function, void* user, bool blocks, Stream& stream) {
  const StreamKey key = key_of(stream);
  {
    const std::lock_guard lock(mutex_);
    if (!subscriptions_.contains(key)) {
      return {ACL_ERROR_STREAM_NOT_SUBSCRIBE,
              "no thread would run the callback: call aclrtSubscribeReport() for " + stream.name() + " first"};
    }
  }
  auto report = std::make_shared<Report>();
  report->function = function;
  report->user = user;
  report->stream = stream.number();
  return stream.submit([this, report, key, blocks] { return deliver(report, key, blocks); });
}

Outcome Reports::deliver(const std::shared_ptr<Report>& report, StreamKey stream, bool blocks) {
  Outcome never{ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                "a callback never ran: its stream lost its thread (aclrtUnSubscribeReport) before"};
  std::unique_lock lock(mutex_);
  const auto place = subscriptions_.find(stream);
  if (place == subscriptions_.end()) return never;
  place->second.queue.push_back(report);
  changed_.notify_all();
  if (!blocks) return {};
  changed_.wait(lock, [&] { return report->state == State::done || report->state == State::cancelled; });
  return report->state == State::done ? Outcome() : never;
}

std::shared_ptr<Reports::Report> Reports::take_next(std::uint64_t thread, bool* subscribed) {
  for (auto& [stream, subscription] : subscriptions_) {
    if (subscription.thread != thread) continue;
    *subscribed = true;
    if (subscription.queue.empty()) continue;
    auto report = subscription.queue.front();
    subscription.queue.pop_front();
    report->state = State::running;
    return report;
  }
  return nullptr;
}

Outcome Reports::process(std::uint64_t thread, std::int32_t timeout_ms) {
  std::unique_lock lock(mutex_);
  bool subscribed = false;
  std::shared_ptr<Report> report;
  const auto is_due = [&] { return (report = take_next(thread, &subscribed)) != nullptr; };
  if (timeout_ms < 0) {
    changed_.wait(lock, is_due);
  } else if (!changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_due)) {
    if (subscribed) {
      return {ACL_ERROR_RT_WAIT_TIMEOUT, "no callback was due within " + std::to_string(timeout_ms) + " ms"};
    }
    return {ACL_ERROR_THREAD_NOT_SUBSCRIBE,
            "this thread (" + std::to_string(thread) + ") has subscribed to no stream's callbacks"};
  }
  while (report != nullptr) {
    lock.unlock();
    report->function(report->user);
    lock.lock();
    report->state = State::done;
    changed_.notify_all();
    report = take_next(thread, &subscribed);
  }
  return {};
}

}  // namespace cistern::acl
