// aclInit to aclFinalize, devices and contexts.
#include "acl/acl.h"
#include "acl/runtime/memory_pool.hpp"
#include "acl/runtime/runtime.hpp"
#include "acl/runtime/trap.hpp"

using namespace cistern::acl;

aclError aclInit(const char* configPath) {
  return enter("aclInit", [&] {
    Outcome begun = Runtime::instance().begin(configPath);
    if (begun.is_ok() && Runtime::instance().is_strict()) install_trap();
    return begun;
  });
}

aclError aclFinalize(void) {
  return enter("aclFinalize", [] { return Runtime::instance().end(); });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return enter("aclFinalizeReference", [&] { return Runtime::instance().end_reference(refCount); });
}

const char* aclGetRecentErrMsg(void) { return recent_text(); }

aclError aclrtSetDevice(int32_t deviceId) {
  return enter_running("aclrtSetDevice", [&](Runtime& runtime) { return runtime.use_device(deviceId); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return enter_running("aclrtResetDevice", [&](Runtime& runtime) { return runtime.release_device(deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return enter_running("aclrtResetDeviceForce",
                       [&](Runtime& runtime) { return runtime.release_device(deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return enter_context("aclrtGetDevice", [&](Runtime&, const Context& context) -> Outcome {
    if (deviceId == nullptr) return invalid_parameter("'deviceId' is NULL");
    *deviceId = static_cast<int32_t>(context.npu->ordinal());
    return {};
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return enter_running("aclrtGetDeviceCount", [&](const Runtime& runtime) -> Outcome {
    if (count == nullptr) return invalid_parameter("'count' is NULL");
    *count = runtime.device_count();
    return {};
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return enter_running("aclrtGetRunMode", [&](const Runtime&) -> Outcome {
    if (runMode == nullptr) return invalid_parameter("'runMode' is NULL");
    *runMode = ACL_HOST;
    return {};
  });
}

aclError aclrtSynchronizeDevice(void) {
  return enter_context("aclrtSynchronizeDevice", [](const Runtime& runtime, const Context& context) -> Outcome {
    const cistern::base::Status waited = context.npu->device().wait_device();
    if (!waited.is_ok()) return outcome_of(waited);
    for (const auto& stream : runtime.streams.select([&](const Stream& each) { return each.npu() == context.npu; })) {
      if (Outcome failed = stream->synchronize(-1); !failed.is_ok()) return failed;
    }
    trim_memory_pools(*context.npu);
    return {};
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  const void* const caller = __builtin_return_address(0);
  return enter_running("aclrtCreateContext", [&](Runtime& runtime) -> Outcome {
    if (context == nullptr) return invalid_parameter("'context' is NULL");
    return runtime.create_context(deviceId, caller, context);
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return enter_running("aclrtDestroyContext", [&](Runtime& runtime) { return runtime.destroy_context(context); });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return enter_running("aclrtSetCurrentContext", [&](Runtime& runtime) { return runtime.set_current(context); });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return enter_context("aclrtGetCurrentContext", [&](const Runtime& runtime, const Context&) -> Outcome {
    if (context == nullptr) return invalid_parameter("'context' is NULL");
    *context = const_cast<void*>(runtime.current_handle());
    return {};
  });
}
