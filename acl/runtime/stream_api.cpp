// Streams, events and callbacks of the interface: handles in, objects of context.hpp, event.hpp, reports.hpp out.
#include <pthread.h>

#include "acl/acl_rt.h"
#include "acl/runtime/memory_pool.hpp"
#include "acl/runtime/runtime.hpp"

using namespace cistern::acl;

namespace {

Outcome create_stream(Runtime& runtime, aclrtStream* stream, const void* caller) {
  if (stream == nullptr) return invalid_parameter("'stream' is NULL");
  return runtime.create_stream(caller, stream);
}

Outcome synchronize(Stream& stream, std::int32_t timeout_ms) {
  Outcome done = stream.synchronize(timeout_ms);
  if (done.is_ok()) trim_memory_pools(*stream.npu());
  return done;
}

aclError create_event(std::string_view function, aclrtEvent* event, std::uint32_t flag, const void* caller) {
  return enter_context(function, [&](Runtime& runtime, const Context& context) -> Outcome {
    if (event == nullptr) return invalid_parameter("'event' is NULL");
    constexpr std::uint32_t kFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;
    if ((flag & ~kFlags) != 0) return invalid_runtime_parameter("flag " + std::to_string(flag) + " has unknown bits");
    std::shared_ptr<Event> created;
    Outcome outcome = Event::create(context.npu, caller, &created);
    if (outcome.is_ok()) *event = runtime.events.issue(std::move(created));
    return outcome;
  });
}

// Calls action(Event&) -> Outcome.
template <typename Action>
aclError enter_event(std::string_view function, aclrtEvent handle, const Action& action) noexcept {
  return enter_running(function, [&](Runtime& runtime) -> Outcome {
    const std::shared_ptr<Event> event = runtime.events.find(handle);
    return event == nullptr ? runtime.events.explain(handle) : action(*event);
  });
}

// Calls action(Event&, Stream&) -> Outcome.
template <typename Action>
aclError enter_event_and_stream(std::string_view function, aclrtEvent handle, aclrtStream stream,
                                const Action& action) noexcept {
  return enter_stream(function, stream, [&](Runtime& runtime, Stream& found) -> Outcome {
    const std::shared_ptr<Event> event = runtime.events.find(handle);
    return event == nullptr ? runtime.events.explain(handle) : action(*event, found);
  });
}

}  // namespace

// --- Streams -------------------------------------------------------------------------------------

aclError aclrtCreateStream(aclrtStream* stream) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclrtCreateStream", [&](Runtime& runtime) { return create_stream(runtime, stream, caller); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclrtCreateStreamWithConfig", [&](Runtime& runtime) -> Outcome {
    constexpr std::uint32_t kLowestPriority = 7;
    if (priority > kLowestPriority) {
      return invalid_runtime_parameter("priority " + std::to_string(priority) + " is not one of 0 to 7");
    }
    if ((flag & ~(ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC)) != 0) {
      return invalid_runtime_parameter("flag " + std::to_string(flag) + " has unknown bits");
    }
    return create_stream(runtime, stream, caller);
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return enter_running("aclrtDestroyStream", [&](Runtime& runtime) { return runtime.destroy_stream(stream, true); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return enter_running("aclrtDestroyStreamForce",
                       [&](Runtime& runtime) { return runtime.destroy_stream(stream, false); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return enter_stream("aclrtSynchronizeStream", stream,
                      [](const Runtime&, Stream& found) { return synchronize(found, -1); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return enter_stream("aclrtSynchronizeStreamWithTimeout", stream, [&](const Runtime&, Stream& found) -> Outcome {
    if (timeout < -1) return invalid_runtime_parameter("timeout " + std::to_string(timeout) + " is below -1");
    return synchronize(found, timeout);
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return enter_stream("aclrtStreamQuery", stream, [&](const Runtime&, Stream& found) -> Outcome {
    if (status == nullptr) return invalid_parameter("'status' is NULL");
    bool idle = false;
    if (Outcome failed = found.is_idle(&idle); !failed.is_ok()) return failed;
    *status = idle ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return {};
  });
}

// --- Events --------------------------------------------------------------------------------------

aclError aclrtCreateEvent(aclrtEvent* event) {
  return create_event("aclrtCreateEvent", event, ACL_EVENT_TIME_LINE, __builtin_return_address(0));
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return create_event("aclrtCreateEventWithFlag", event, flag, __builtin_return_address(0));
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return create_event("aclrtCreateEventExWithFlag", event, flag, __builtin_return_address(0));
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return enter_running("aclrtDestroyEvent", [&](Runtime& runtime) -> Outcome {
    return runtime.events.withdraw(event) == nullptr ? runtime.events.explain(event) : Outcome();
  });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return enter_event_and_stream("aclrtRecordEvent", event, stream,
                                [](Event& found, Stream& on) { return found.record(on); });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return enter_event_and_stream("aclrtResetEvent", event, stream, [](Event& found, const Stream&) -> Outcome {
    found.reset();
    return {};
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return enter_event_and_stream("aclrtStreamWaitEvent", event, stream,
                                [](Event& found, Stream& waiting) { return found.make_wait(waiting); });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return enter_event("aclrtSynchronizeEvent", event, [](Event& found) { return found.wait(); });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return enter_event("aclrtQueryEventStatus", event, [&](Event& found) -> Outcome {
    if (status == nullptr) return invalid_parameter("'status' is NULL");
    bool complete = false;
    if (Outcome failed = found.is_complete(&complete); !failed.is_ok()) return failed;
    *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return {};
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return enter_running("aclrtEventElapsedTime", [&](const Runtime& runtime) -> Outcome {
    if (ms == nullptr) return invalid_parameter("'ms' is NULL");
    const std::shared_ptr<Event> start = runtime.events.find(startEvent);
    const std::shared_ptr<Event> end = runtime.events.find(endEvent);
    if (start == nullptr) return runtime.events.explain(startEvent);
    if (end == nullptr) return runtime.events.explain(endEvent);
    return Event::elapsed(*start, *end, ms);
  });
}

// --- Callbacks -----------------------------------------------------------------------------------

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return enter_stream("aclrtSubscribeReport", stream, [&](Runtime& runtime, const Stream& found) {
    return runtime.reports.subscribe(threadId, found);
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return enter_stream("aclrtUnSubscribeReport", stream, [&](Runtime& runtime, const Stream& found) {
    return runtime.reports.unsubscribe(threadId, found);
  });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  return enter_stream("aclrtLaunchCallback", stream, [&](Runtime& runtime, Stream& found) -> Outcome {
    if (fn == nullptr) return invalid_parameter("'fn' is NULL");
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
      return invalid_runtime_parameter("block type " + std::to_string(blockType) + " is not 0 or 1");
    }
    return runtime.reports.launch(fn, userData, blockType == ACL_CALLBACK_BLOCK, found);
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return enter_running("aclrtProcessReport", [&](Runtime& runtime) -> Outcome {
    if (timeout < -1) return invalid_runtime_parameter("timeout " + std::to_string(timeout) + " is below -1");
    return runtime.reports.process(static_cast<std::uint64_t>(pthread_self()), timeout);
  });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return enter_stream("aclrtLaunchHostFunc", stream, [&](const Runtime&, Stream& found) -> Outcome {
    if (fn == nullptr) return invalid_parameter("'fn' is NULL");
    return found.submit([fn, args]() -> Outcome {
      fn(args);
      return {};
    });
  });
}
