#include "acl/runtime/copies.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace cistern::acl {
namespace {

constexpr std::uint64_t kDeviceCopyAlignment = 64;  // of asynchronous copies within a device

// `from` and `to` may be on either side; each device's copies go through that device.
Outcome copy_row(const Copy& copy, std::uint64_t row) {
  const std::uint64_t to = copy.to.address + row * copy.shape.to_pitch;
  const std::uint64_t from = copy.from.address + row * copy.shape.from_pitch;
  const std::uint64_t bytes = copy.shape.width;
  void* const to_host = reinterpret_cast<void*>(static_cast<std::uintptr_t>(to));
  const void* const from_host = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from));
  if (!copy.to.is_on_device() && !copy.from.is_on_device()) {
    std::memmove(to_host, from_host, bytes);
    return {};
  }
  if (!copy.from.is_on_device()) {
    return outcome_of(copy.to.block->npu->device().copy_from_host(to, from_host, bytes));
  }
  device::Device& source = copy.from.block->npu->device();
  if (!copy.to.is_on_device()) return outcome_of(source.copy_to_host(to_host, from, bytes));
  if (copy.to.block->npu == copy.from.block->npu) return outcome_of(source.copy(to, from, bytes));
  return outcome_of(copy.to.block->npu->device().copy_from_host(to, source.host_alias(from), bytes));
}

bool wants_device(aclrtMemcpyKind kind, bool is_destination) noexcept {
  if (kind == ACL_MEMCPY_DEVICE_TO_DEVICE) return true;
  return kind == (is_destination ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST);
}

}  // namespace

Outcome check_still_there(const Runtime& runtime, const Range& range) {
  if (!range.block) return {};
  const auto now = runtime.blocks.find(range.address);
  if (now && now->address == range.block->address && now->caller == range.block->caller) return {};
  return invalid_runtime_parameter("the block of '" + range.argument + "' at " + hex(range.block->address) +
                                   " was freed before the stream came to the work that uses it; synchronise first");
}

Outcome locate(const Runtime& runtime, std::string_view argument, const void* pointer, std::uint64_t bytes,
               Range* range) {
  if (pointer == nullptr) return invalid_parameter("'" + std::string(argument) + "' is NULL");
  range->argument = argument;
  range->address = reinterpret_cast<std::uintptr_t>(pointer);
  range->bytes = bytes;
  range->block = runtime.blocks.find(range->address);
  if (!range->block) {
    const std::shared_ptr<DevicePool> pool = runtime.pool_around(range->address);
    if (pool == nullptr) return {};
    return invalid_runtime_parameter("'" + std::string(argument) + "' (" + hex(pointer) + ") lies in memory of " +
                                     pool->name() + " that no live block holds: it was freed before");
  }
  const std::uint64_t room = range->block->address + range->block->bytes - range->address;
  if (bytes <= room) return {};
  return invalid_runtime_parameter("'" + std::string(argument) + "' (" + hex(pointer) + ") has " +
                                   std::to_string(room) + " bytes to the end of its block, not " +
                                   std::to_string(bytes));
}

Outcome check_side(Runtime& runtime, const Range& range, bool must_be_on_device, const void* caller) {
  if (range.is_on_device() == must_be_on_device) return {};
  std::string text = "'" + range.argument + "' is ";
  text += must_be_on_device ? "host memory where device memory is needed" : "device memory where host memory is needed";
  if (runtime.is_strict()) {
    return invalid_runtime_parameter(text + ": " + hex(range.address) + " (CISTERN_ACL_STRICT is on)");
  }
  runtime.warn_once(text + "; a real NPU would refuse it", caller);
  return {};
}

Outcome plan_copy(Runtime& runtime, void* to, const void* from, const CopyShape& shape, aclrtMemcpyKind kind,
                  const void* caller, Copy* copy) {
  if (shape.width == 0 || shape.height == 0) return invalid_parameter("a size of 0 bytes");
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT) {
    return invalid_runtime_parameter("kind " + std::to_string(kind) + " is not one of 0 to 4");
  }
  copy->shape = shape;
  const std::uint64_t rows_before = shape.height - 1;
  if (Outcome wrong = locate(runtime, "dst", to, rows_before * shape.to_pitch + shape.width, &copy->to);
      !wrong.is_ok()) {
    return wrong;
  }
  if (Outcome wrong = locate(runtime, "src", from, rows_before * shape.from_pitch + shape.width, &copy->from);
      !wrong.is_ok()) {
    return wrong;
  }
  if (kind == ACL_MEMCPY_DEFAULT) return {};
  if (Outcome wrong = check_side(runtime, copy->to, wants_device(kind, true), caller); !wrong.is_ok()) return wrong;
  return check_side(runtime, copy->from, wants_device(kind, false), caller);
}

Outcome perform(const Copy& copy) {
  for (std::uint64_t row = 0; row < copy.shape.height; ++row) {
    if (Outcome failed = copy_row(copy, row); !failed.is_ok()) return failed;
  }
  return {};
}

Outcome submit(Runtime& runtime, Stream& stream, Copy copy) {
  const bool is_aligned = (copy.to.address | copy.from.address) % kDeviceCopyAlignment == 0;
  if (copy.to.is_on_device() && copy.from.is_on_device() && !is_aligned && runtime.is_strict()) {
    return {ACL_ERROR_RT_ADDR_UNALIGNED, "an asynchronous copy within a device needs addresses that are multiples of " +
                                             std::to_string(kDeviceCopyAlignment) + ", not " + hex(copy.to.address) +
                                             " and " + hex(copy.from.address)};
  }
  return stream.submit([&runtime, copy = std::move(copy)]() -> Outcome {
    if (Outcome gone = check_still_there(runtime, copy.to); !gone.is_ok()) return gone;
    if (Outcome gone = check_still_there(runtime, copy.from); !gone.is_ok()) return gone;
    return perform(copy);
  });
}

Outcome fill(const Range& range, std::uint8_t value) {
  if (range.is_on_device()) return outcome_of(range.block->npu->device().set(range.address, value, range.bytes));
  std::memset(range.pointer(), value, range.bytes);
  return {};
}

Outcome submit_fill(Runtime& runtime, Stream& stream, Range range, std::uint8_t value) {
  return stream.submit([&runtime, range = std::move(range), value]() -> Outcome {
    if (Outcome gone = check_still_there(runtime, range); !gone.is_ok()) return gone;
    return fill(range, value);
  });
}

}  // namespace cistern::acl
