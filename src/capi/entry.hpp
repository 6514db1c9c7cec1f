// What handles stand for, and the way into and out of every function of the C interface.
//
// A function enters with run() or with_pool()/with_device(): they refuse calls from inside a log callback, find the
// object behind the handle and keep it alive meanwhile, let no exception out, and put a failure, with the function's
// name before it, into the thread's last error.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "capi/handle_table.hpp"
#include "capi/thread_record.hpp"
#include "cistern/cistern.h"
#include "compact/scheduler.hpp"
#include "device/device.hpp"
#include "pool/pool.hpp"

namespace cistern::capi {

struct DeviceEntry {
  std::shared_ptr<device::Device> device;
};

struct PoolEntry {
  std::unique_ptr<pool::Pool> pool;
  std::unique_ptr<compact::Scheduler> scheduler{};  // null: the pool is not compacted actively
  std::mutex listener_mutex{};
  std::shared_ptr<pool::BackingListener> listener{};  // the pool's, as set through this interface
};

// There before any constructor of the program runs and after every destructor: both may call.
extern HandleTable device_handles;
extern HandleTable pool_handles;

inline std::uint64_t number_of(const void* handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }

// Keeps the failure as the thread's last error. `device` may be null.
cistern_status_t record_failure(const base::Status& status, std::string_view function,
                                const device::DeviceInfo* device) noexcept;
// The exception that is being handled, as a status.
base::Status status_of_exception() noexcept;
cistern_status_t refuse_without_record() noexcept;
cistern_status_t refuse_nested(std::string_view function) noexcept;
cistern_status_t refuse_handle(const HandleTable& table, std::uint64_t handle, std::string_view function) noexcept;

template <typename Action>
base::Status without_exceptions(const Action& action) noexcept {
  try {
    return action();
  } catch (...) {
    return status_of_exception();
  }
}

// Calls action() -> base::Status. No handle is in use. `device` is the one that a failure concerns.
template <typename Action>
cistern_status_t run(std::string_view function, const Action& action,
                     const device::DeviceInfo* device = nullptr) noexcept {
  ThreadRecord* record = this_thread_record();
  if (record == nullptr) return refuse_without_record();
  if (record->handle_in_use.load(std::memory_order_relaxed) != kNoHandle) return refuse_nested(function);
  record->handle_in_use.store(kWithoutHandle, std::memory_order_relaxed);
  const base::Status status = without_exceptions(action);
  HandleTable::leave(record);
  return status.is_ok() ? CISTERN_OK : record_failure(status, function, device);
}

template <typename Entry, typename Info, typename Action>
cistern_status_t with_handle(HandleTable& table, const void* handle, std::string_view function, const Info& info,
                             const Action& action) noexcept {
  ThreadRecord* record = this_thread_record();
  if (record == nullptr) return refuse_without_record();
  if (record->handle_in_use.load(std::memory_order_relaxed) != kNoHandle) return refuse_nested(function);
  auto* entry = static_cast<Entry*>(table.enter(number_of(handle), record));
  if (entry == nullptr) return refuse_handle(table, number_of(handle), function);
  const base::Status status = without_exceptions([&] { return action(*entry); });
  const cistern_status_t code = status.is_ok() ? CISTERN_OK : record_failure(status, function, &info(*entry));
  HandleTable::leave(record);
  return code;
}

// Calls action(pool::Pool&) -> base::Status.
template <typename Action>
cistern_status_t with_pool(const cistern_pool_t* handle, std::string_view function, const Action& action) noexcept {
  return with_handle<PoolEntry>(
      pool_handles, handle, function,
      [](PoolEntry& entry) -> const device::DeviceInfo& { return entry.pool->device().info(); },
      [&](PoolEntry& entry) { return action(*entry.pool); });
}

// Calls action(PoolEntry&) -> base::Status.
template <typename Action>
cistern_status_t with_pool_entry(const cistern_pool_t* handle, std::string_view function,
                                 const Action& action) noexcept {
  return with_handle<PoolEntry>(
      pool_handles, handle, function,
      [](PoolEntry& entry) -> const device::DeviceInfo& { return entry.pool->device().info(); }, action);
}

// Calls action(const std::shared_ptr<device::Device>&) -> base::Status.
template <typename Action>
cistern_status_t with_device(const cistern_device_t* handle, std::string_view function, const Action& action) noexcept {
  return with_handle<DeviceEntry>(
      device_handles, handle, function,
      [](DeviceEntry& entry) -> const device::DeviceInfo& { return entry.device->info(); },
      [&](DeviceEntry& entry) { return action(entry.device); });
}

}  // namespace cistern::capi
