// Reports: callbacks of streams that run on threads of the program's, as aclrtSubscribeReport() and its kin have it.
//
// A stream that comes to a callback puts it before the thread that has subscribed, and, where the callback blocks,
// waits until it has run. Whoever unsubscribes cancels what has not run, so that no stream waits for ever.
//
// Thread-safety: all. Callbacks run with no lock held.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "acl/acl_rt.h"
#include "acl/runtime/context.hpp"

namespace cistern::acl {

class Reports {
 public:
  Outcome subscribe(std::uint64_t thread, const Stream& stream);
  Outcome unsubscribe(std::uint64_t thread, const Stream& stream);
  // The stream is about to end: what it has not called is cancelled.
  void forget(const Stream& stream) noexcept;
  Outcome launch(aclrtCallback function, void* user, bool blocks, Stream& stream);
  // On the subscribed thread.
  Outcome process(std::uint64_t thread, std::int32_t timeout_ms);

 private:
  enum class State : std::uint8_t { queued, running, done, cancelled };
  struct Report {
    aclrtCallback function = nullptr;
    void* user = nullptr;
    cistern_stream_t stream = 0;
    State state = State::queued;
  };
  using StreamKey = std::pair<std::uint32_t, cistern_stream_t>;  // device and number
  struct Subscription {
    std::uint64_t thread = 0;
    std::deque<std::shared_ptr<Report>> queue;
  };

  static StreamKey key_of(const Stream& stream) noexcept { return {stream.npu()->ordinal(), stream.number()}; }
  // On the stream's thread.
  Outcome deliver(const std::shared_ptr<Report>& report, StreamKey stream, bool blocks);
  bool cancel(StreamKey stream);  // with the lock held
  std::shared_ptr<Report> take_next(std::uint64_t thread, bool* subscribed);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<StreamKey, Subscription> subscriptions_;
};

}  // namespace cistern::acl
