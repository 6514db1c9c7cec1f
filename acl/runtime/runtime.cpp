#include "acl/runtime/runtime.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "acl/runtime/inventories.hpp"
#include "acl/runtime/memory_pool.hpp"

namespace cistern::acl {
namespace {

// By handle, so that a context that ended in another thread is seen to have ended.
thread_local constinit const void* current_context = nullptr;

Outcome read_config(const char* path) {
  if (path == nullptr || *path == '\0') return {};
  std::ifstream file(path);
  if (!file) return {ACL_ERROR_INVALID_FILE, std::string("the configuration ") + path + " cannot be read"};
  for (auto at = std::istreambuf_iterator<char>(file); at != std::istreambuf_iterator<char>(); ++at) {
    if (std::string_view(" \t\r\n{}").find(*at) != std::string_view::npos) continue;
    log(base::LogLevel::warning,
        std::string("aclInit: nothing of what ") + path + " configures exists in this library; the file is not used");
    break;
  }
  return {};
}

}  // namespace

Runtime& Runtime::instance() noexcept {
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() { add_inventories(this); }

Outcome Runtime::begin(const char* config_path) {
  const std::lock_guard lock(mutex_);
  if (begun_ > 0) {
    ++begun_;
    return {ACL_ERROR_REPEAT_INITIALIZE, "has been called before; this call is counted, too"};
  }
  if (Outcome wrong = read_config(config_path); !wrong.is_ok()) return wrong;
  auto settings = Settings::from_environment();
  if (!settings.is_ok()) return invalid_parameter(std::string(settings.status().text()));
  settings_ = settings.value();
  is_strict_ = settings_.strict;
  device_count_ = settings_.devices;
  begun_ = 1;
  has_ended_ = false;
  is_running_.store(true, std::memory_order_release);
  return {};
}

Outcome Runtime::end() {
  const std::lock_guard lock(mutex_);
  return end_locked();
}

Outcome Runtime::end_reference(std::uint64_t* left) {
  const std::lock_guard lock(mutex_);
  if (begun_ <= 1) {
    Outcome ended = end_locked();
    if (ended.is_ok() && left != nullptr) *left = 0;
    return ended;
  }
  --begun_;
  if (left != nullptr) *left = begun_;
  return {};
}

Outcome Runtime::end_locked() {
  if (begun_ == 0 && has_ended_) return {ACL_ERROR_REPEAT_FINALIZE, "has been called before"};
  if (begun_ == 0) return {ACL_ERROR_UNINITIALIZE, "aclInit() was never called"};
  std::vector<LeftItem> items;
  for (auto& [ordinal, device] : devices_) end_npu(device.npu, &items);
  devices_.clear();
  for (const auto& inventory : inventories_) inventory->list(nullptr, &items);
  const std::string text = describe_left_behind("aclFinalize", items);
  if (!text.empty()) log(base::LogLevel::warning, text);
  for (const auto& inventory : inventories_) inventory->end(nullptr);
  {
    const std::lock_guard lock(host_pool_mutex_);
    host_pool_.reset();
  }
  begun_ = 0;
  has_ended_ = true;
  is_running_.store(false, std::memory_order_release);
  return {};
}

Outcome Runtime::host_pool(std::shared_ptr<DevicePool>* pool) {
  const std::lock_guard lock(host_pool_mutex_);
  if (host_pool_ == nullptr) {
    if (Outcome wrong = DevicePool::create_of_host(&host_pool_); !wrong.is_ok()) return wrong;
  }
  *pool = host_pool_;
  return {};
}

std::shared_ptr<DevicePool> Runtime::pool_around(std::uint64_t address) const {
  for (const auto& context : contexts.select([](const Context&) { return true; })) {
    std::uint64_t generation = 0;
    if (cistern_backing_generation(context->pool->handle(), address, 1, &generation) == CISTERN_OK) {
      return context->pool;
    }
  }
  return nullptr;
}

Outcome Runtime::check_running() const {
  if (is_running_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  return {ACL_ERROR_UNINITIALIZE, has_ended_ ? "called after aclFinalize(), which has ended everything; call it before"
                                             : "aclInit() was not called"};
}

// --- Devices -------------------------------------------------------------------------------------

Outcome Runtime::check_ordinal(std::int32_t ordinal) const {
  if (ordinal >= 0 && static_cast<std::uint32_t>(ordinal) < settings_.devices) return {};
  return {ACL_ERROR_RT_INVALID_DEVICEID, "there is no device " + std::to_string(ordinal) + "; CISTERN_ACL_DEVICES is " +
                                             std::to_string(settings_.devices)};
}

Outcome Runtime::open_npu(std::int32_t ordinal, std::shared_ptr<Npu>* npu) {
  if (Outcome wrong = check_ordinal(ordinal); !wrong.is_ok()) return wrong;
  const auto number = static_cast<std::uint32_t>(ordinal);
  if (const auto place = devices_.find(number); place != devices_.end()) {
    *npu = place->second.npu;
    return {};
  }
  Outcome opened = Npu::open(number, settings_, npu);
  if (opened.is_ok()) devices_[number].npu = *npu;
  return opened;
}

Outcome Runtime::use_device(std::int32_t ordinal) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Npu> npu;
  if (Outcome wrong = open_npu(ordinal, &npu); !wrong.is_ok()) return wrong;
  Device& device = devices_[static_cast<std::uint32_t>(ordinal)];
  if (device.default_context == nullptr) {
    auto context = std::make_shared<Context>();
    context->npu = npu;
    context->name = "default context of device " + std::to_string(ordinal);
    context->is_default = true;
    if (Outcome wrong = DevicePool::create(npu, context->name, 0, &context->pool); !wrong.is_ok()) return wrong;
    device.default_handle = contexts.issue(context);
    device.default_context = std::move(context);
  }
  ++device.uses;
  current_context = device.default_handle;
  return {};
}

Outcome Runtime::release_device(std::int32_t ordinal, bool whatever_the_count) {
  const std::lock_guard lock(mutex_);
  if (Outcome wrong = check_ordinal(ordinal); !wrong.is_ok()) return wrong;
  const auto place = devices_.find(static_cast<std::uint32_t>(ordinal));
  if (place == devices_.end()) {
    return {ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(ordinal) + " is not in use"};
  }
  Device& device = place->second;
  if (device.uses > 1 && !whatever_the_count) {
    --device.uses;
    return {};
  }
  std::vector<LeftItem> items;
  end_npu(device.npu, &items);
  devices_.erase(place);
  const std::string text = describe_left_behind("aclrtResetDevice(" + std::to_string(ordinal) + ")", items);
  if (!text.empty()) log(base::LogLevel::warning, text);
  return {};
}

void Runtime::end_npu(const std::shared_ptr<Npu>& npu, std::vector<LeftItem>* items) {
  for (const auto& inventory : inventories_) inventory->list(npu.get(), items);
  for (const auto& inventory : inventories_) inventory->end(npu.get());
}

Outcome Runtime::create_context(std::int32_t ordinal, const void* caller, void** handle) {
  const std::lock_guard lock(mutex_);
  auto context = std::make_shared<Context>();
  if (Outcome wrong = open_npu(ordinal, &context->npu); !wrong.is_ok()) return wrong;
  context->name = "context " + std::to_string(contexts_made_ + 1);
  context->caller = caller;
  if (Outcome wrong = DevicePool::create(context->npu, context->name, 0, &context->pool); !wrong.is_ok()) return wrong;
  ++contexts_made_;
  *handle = contexts.issue(std::move(context));
  current_context = *handle;
  return {};
}

Outcome Runtime::destroy_context(const void* handle) {
  std::shared_ptr<Context> context = contexts.find(handle);
  if (context == nullptr) return contexts.explain(handle);
  if (context->is_default) {
    return invalid_runtime_parameter("the " + context->name + " ends with aclrtResetDevice(), not by itself");
  }
  if (contexts.withdraw(handle) == nullptr) return contexts.explain(handle);
  if (current_context == handle) current_context = nullptr;
  std::vector<LeftItem> items;
  const auto is_of_context = [&](const Stream& stream) { return &stream.pool() == context->pool.get(); };
  for (const auto& stream : streams.select(is_of_context)) items.push_back({stream->name(), 0, stream->caller()});
  for (const Block& block : blocks.select([&](const Block& each) { return each.pool == context->pool; })) {
    items.push_back({"block of " + context->name, block.bytes, block.caller});
  }
  const std::string text = describe_left_behind("aclrtDestroyContext", items);
  if (!text.empty()) log(base::LogLevel::warning, text + "\n  what is left can still be used and freed");
  if (const std::shared_ptr<Stream> stream = context->take_default_stream()) {
    end_stream(*stream);
  }
  return {};
}

void Runtime::end_stream(Stream& stream) noexcept {
  reports.forget(stream);
  const Outcome waited = stream.synchronize(-1);
  if (!waited.is_ok()) log(base::LogLevel::warning, waited.text());
  forget_in_memory_pools(stream);
}

Outcome Runtime::set_current(const void* context) {
  if (contexts.find(context) == nullptr) return contexts.explain(context);
  current_context = context;
  return {};
}

const void* Runtime::current_handle() const noexcept { return current_context; }

Outcome Runtime::current(std::shared_ptr<Context>* context) const {
  *context = contexts.find(current_context);
  if (*context != nullptr) return {};
  const std::string why = current_context == nullptr ? "this thread has no context"
                                                     : "this thread's context was destroyed or ended with its device";
  return {ACL_ERROR_RT_CONTEXT_NULL, why + "; call aclrtSetDevice(), aclrtSetCurrentContext() or aclrtCreateContext()"};
}

// --- Streams -------------------------------------------------------------------------------------

Outcome Runtime::create_stream(const void* caller, void** handle) {
  std::shared_ptr<Context> context;
  if (Outcome wrong = current(&context); !wrong.is_ok()) return wrong;
  const std::string name = "stream " + std::to_string(streams_made_.fetch_add(1) + 1);
  std::shared_ptr<Stream> stream;
  Outcome created = Stream::create(context->npu, context->pool, name, caller, &stream);
  if (created.is_ok()) *handle = streams.issue(std::move(stream));
  return created;
}

Outcome Runtime::destroy_stream(const void* handle, bool waits) {
  const std::shared_ptr<Stream> stream = streams.withdraw(handle);
  if (stream == nullptr) return streams.explain(handle);
  // Callbacks that can still run are waited for; a stream that is forced to end cancels them.
  Outcome waited = waits ? stream->synchronize(-1) : Outcome();
  reports.forget(*stream);
  forget_in_memory_pools(*stream);
  return waited;
}

Outcome Runtime::find_stream(const void* handle, std::shared_ptr<Stream>* stream) const {
  if (handle == nullptr) {
    std::shared_ptr<Context> context;
    if (Outcome wrong = current(&context); !wrong.is_ok()) return wrong;
    return context->default_stream(stream);
  }
  *stream = streams.find(handle);
  return *stream == nullptr ? streams.explain(handle) : Outcome();
}

void Runtime::warn_once(const std::string& text, const void* caller) {
  {
    const std::lock_guard lock(warned_mutex_);
    if (!warned_.emplace(text, caller).second) return;
  }
  log(base::LogLevel::warning, text + ", at " + call_site(caller) + " (said once for each place)");
}

}  // namespace cistern::acl
