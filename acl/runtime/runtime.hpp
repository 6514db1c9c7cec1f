// Runtime: everything that exists between aclInit() and aclFinalize(), and how it ends.
//
// There is one in a process. It is never destroyed, since threads and destructors of the program may call at any time;
// what it holds ends with the device it belongs to, in the order in which a program should have given it back, and
// whatever the program had not is reported first.
//
// Thread-safety: all.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "acl/runtime/block_map.hpp"
#include "acl/runtime/context.hpp"
#include "acl/runtime/event.hpp"
#include "acl/runtime/handles.hpp"
#include "acl/runtime/left_behind.hpp"
#include "acl/runtime/reports.hpp"

namespace cistern::acl {

// Things of one kind that a device's end, or the end of everything, ends.
class Inventory {
 public:
  virtual ~Inventory() = default;
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;
  // What is there of the device; null: of no device, when everything ends.
  virtual void list(const Npu* npu, std::vector<LeftItem>* items) = 0;
  virtual void end(const Npu* npu) = 0;

 protected:
  Inventory() = default;
};

class Runtime {
 public:
  static Runtime& instance() noexcept;

  // --- Begin and end ---------------------------------------------------------------------------------------------
  Outcome begin(const char* config_path);
  Outcome end();
  Outcome end_reference(std::uint64_t* left);
  // An error outside begin()..end().
  Outcome check_running() const;
  bool is_strict() const noexcept { return is_strict_.load(std::memory_order_relaxed); }
  std::uint32_t device_count() const noexcept { return device_count_.load(std::memory_order_relaxed); }

  // --- Devices ---------------------------------------------------------------------------------------------------
  Outcome use_device(std::int32_t ordinal);
  Outcome release_device(std::int32_t ordinal, bool whatever_the_count);
  Outcome create_context(std::int32_t ordinal, const void* caller, void** handle);
  Outcome destroy_context(const void* handle);
  // Of the calling thread.
  Outcome set_current(const void* context);
  const void* current_handle() const noexcept;
  Outcome current(std::shared_ptr<Context>* context) const;

  // --- Streams ---------------------------------------------------------------------------------------------------
  Outcome create_stream(const void* caller, void** handle);
  Outcome destroy_stream(const void* handle, bool waits);
  Outcome find_stream(const void* handle, std::shared_ptr<Stream>* stream) const;

  // Cancels callbacks that wait for the program, and waits for the rest; the handle was withdrawn before.
  void end_stream(Stream& stream) noexcept;

  // In the order in which they are to end; before the first device is used.
  void add_inventory(std::unique_ptr<Inventory> inventory) { inventories_.push_back(std::move(inventory)); }
  // Of host memory, for all contexts.
  Outcome host_pool(std::shared_ptr<DevicePool>* pool);
  // The pool whose memory, live or not, `address` lies in; null: none.
  std::shared_ptr<DevicePool> pool_around(std::uint64_t address) const;
  // Once for each text and call site in the life of the process.
  void warn_once(const std::string& text, const void* caller);

  Handles<Context> contexts{HandleKind::context};
  Handles<Stream> streams{HandleKind::stream};
  Handles<Event> events{HandleKind::event};
  BlockMap blocks;
  Reports reports;

 private:
  struct Device {
    std::uint64_t uses = 0;
    std::shared_ptr<Npu> npu;
    std::shared_ptr<Context> default_context;
    void* default_handle = nullptr;
  };

  Runtime();
  Outcome end_locked();
  void end_npu(const std::shared_ptr<Npu>& npu, std::vector<LeftItem>* items);
  Outcome open_npu(std::int32_t ordinal, std::shared_ptr<Npu>* npu);
  Outcome check_ordinal(std::int32_t ordinal) const;

  mutable std::mutex mutex_;  // guards the following; held while devices begin and end
  std::uint64_t begun_ = 0;   // calls of aclInit that are not taken back
  bool has_ended_ = false;
  std::atomic<bool> is_running_{false};
  std::atomic<bool> is_strict_{false};
  std::atomic<std::uint32_t> device_count_{0};
  Settings settings_;
  std::map<std::uint32_t, Device> devices_;
  std::vector<std::unique_ptr<Inventory>> inventories_;
  std::atomic<std::uint64_t> contexts_made_{0};
  std::atomic<std::uint64_t> streams_made_{0};
  std::mutex host_pool_mutex_;
  std::shared_ptr<DevicePool> host_pool_;
  std::mutex warned_mutex_;
  std::set<std::pair<std::string, const void*>> warned_;
};

// enter() for functions that need aclInit(). Calls action(Runtime&) -> Outcome.
template <typename Action>
aclError enter_running(std::string_view function, const Action& action) noexcept {
  return enter(function, [&]() -> Outcome {
    Runtime& runtime = Runtime::instance();
    if (Outcome wrong = runtime.check_running(); !wrong.is_ok()) return wrong;
    return action(runtime);
  });
}

// The same for functions that work in the current context: action(Runtime&, Context&).
template <typename Action>
aclError enter_context(std::string_view function, const Action& action) noexcept {
  return enter_running(function, [&](Runtime& runtime) -> Outcome {
    std::shared_ptr<Context> context;
    if (Outcome wrong = runtime.current(&context); !wrong.is_ok()) return wrong;
    return action(runtime, *context);
  });
}

// The same for functions on a stream, NULL being the current context's default one: action(Runtime&, Stream&).
template <typename Action>
aclError enter_stream(std::string_view function, const void* handle, const Action& action) noexcept {
  return enter_running(function, [&](Runtime& runtime) -> Outcome {
    std::shared_ptr<Stream> stream;
    if (Outcome wrong = runtime.find_stream(handle, &stream); !wrong.is_ok()) return wrong;
    return action(runtime, *stream);
  });
}

}  // namespace cistern::acl
