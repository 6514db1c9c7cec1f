/* Values and layouts of AscendCL on 64-bit machines, as static assertions: the headers must agree with what programs
 * and tools that were built against CANN expect. Included by a C and by a C++ program.
 */
#include <stddef.h>

#include "acl/acl.h"
#include "acl/ops/acl_dvpp.h"

#ifdef __cplusplus
#define HOLDS(name, condition) static_assert(condition, #condition)
#else
#define HOLDS(name, condition) _Static_assert(condition, #condition)
#endif

HOLDS(handles, sizeof(aclrtStream) == 8 && sizeof(aclrtEvent) == 8 && sizeof(aclrtContext) == 8);
HOLDS(error, sizeof(aclError) == 4 && sizeof(aclFloat16) == 2);
HOLDS(enumerations, sizeof(aclDataType) == 4 && sizeof(aclFormat) == 4 && sizeof(aclrtMemMallocPolicy) == 4);

HOLDS(location, sizeof(aclrtMemLocation) == 8 && offsetof(aclrtMemLocation, id) == 0);
HOLDS(physical, sizeof(aclrtPhysicalMemProp) == 32 && offsetof(aclrtPhysicalMemProp, handleType) == 0);
HOLDS(physical_type, offsetof(aclrtPhysicalMemProp, allocationType) == 4);
HOLDS(physical_attr, offsetof(aclrtPhysicalMemProp, memAttr) == 8);
HOLDS(physical_location, offsetof(aclrtPhysicalMemProp, location) == 12);
HOLDS(physical_reserve, offsetof(aclrtPhysicalMemProp, reserve) == 24);
HOLDS(attribute, sizeof(aclrtMallocAttribute) == 12);
HOLDS(config, sizeof(aclrtMallocConfig) == 16);
HOLDS(pool_properties, sizeof(aclrtMemPoolProps) == 56 && offsetof(aclrtMemPoolProps, maxSize) == 16);
HOLDS(usage, sizeof(aclrtMemUsageInfo) == 112);
HOLDS(pointer, sizeof(aclrtPtrAttributes) == 28);

HOLDS(dims, sizeof(aclmdlIODims) == 1160 && offsetof(aclmdlIODims, dimCount) == 128);
HOLDS(dims_values, offsetof(aclmdlIODims, dims) == 136 && ACL_MAX_DIM_CNT == 128);
HOLDS(batches, sizeof(aclmdlBatch) == 1032 && sizeof(aclmdlHW) == 2056);

HOLDS(policies, ACL_MEM_MALLOC_HUGE_FIRST == 0 && ACL_MEM_MALLOC_HUGE_ONLY == 1 && ACL_MEM_MALLOC_NORMAL_ONLY == 2);
HOLDS(p2p_policies, ACL_MEM_MALLOC_HUGE_FIRST_P2P == 3 && ACL_MEM_MALLOC_NORMAL_ONLY_P2P == 5);
HOLDS(big_policies, ACL_MEM_MALLOC_HUGE1G_ONLY == 6 && ACL_MEM_MALLOC_HUGE1G_ONLY_P2P == 7);
HOLDS(types, ACL_MEM_TYPE_LOW_BAND_WIDTH == 0x100 && ACL_MEM_TYPE_HIGH_BAND_WIDTH == 0x1000);
HOLDS(read_only, ACL_MEM_ACCESS_USER_SPACE_READONLY == 0x100000);
HOLDS(kinds, ACL_MEMCPY_HOST_TO_HOST == 0 && ACL_MEMCPY_HOST_TO_DEVICE == 1 && ACL_MEMCPY_DEVICE_TO_HOST == 2);
HOLDS(device_kinds, ACL_MEMCPY_DEVICE_TO_DEVICE == 3 && ACL_MEMCPY_DEFAULT == 4);
HOLDS(attributes, ACL_DDR_MEM == 0 && ACL_HBM_MEM == 1 && ACL_HBM_MEM_HUGE == 4 && ACL_HBM_MEM_NORMAL == 5);
HOLDS(huge_attribute, ACL_HBM_MEM_HUGE1G == 10);
HOLDS(run_modes, ACL_DEVICE == 0 && ACL_HOST == 1);
HOLDS(locations, ACL_MEM_LOCATION_TYPE_HOST == 0 && ACL_MEM_LOCATION_TYPE_DEVICE == 1);
HOLDS(granularities, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM == 0 && ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED == 1);
HOLDS(pool_attributes, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD == 4 && ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH == 8);
HOLDS(data_types, ACL_FLOAT == 0 && ACL_FLOAT16 == 1 && ACL_INT64 == 9 && ACL_BOOL == 12 && ACL_BF16 == 27);
HOLDS(formats, ACL_FORMAT_NCHW == 0 && ACL_FORMAT_ND == 2 && ACL_FORMAT_FRACTAL_NZ == 29 && ACL_FORMAT_NCL == 47);
HOLDS(callbacks, ACL_CALLBACK_NO_BLOCK == 0 && ACL_CALLBACK_BLOCK == 1);

HOLDS(allocation, ACL_ERROR_RT_MEMORY_ALLOCATION == 207001);
HOLDS(allocation_alias, ACL_ERROR_MEM_ALLOC_FAIL == 207001);
HOLDS(out_of_memory, ACL_ERROR_RT_DEVICE_OOM == 207018 && ACL_ERROR_RT_WAIT_TIMEOUT == 107019);
HOLDS(runtime_codes, ACL_ERROR_RT_PARAM_INVALID == 107000 && ACL_ERROR_RT_CONTEXT_NULL == 107002);
HOLDS(driver_code, ACL_ERROR_RT_DRV_INTERNAL_ERROR == 507899);

/* The interface's own codes are variables, as in AscendCL: no constants of C. */
static int count_wrong_codes(void) {
  int wrong = 0;
  wrong += ACL_SUCCESS != 0;
  wrong += ACL_ERROR_INVALID_PARAM != 100000;
  wrong += ACL_ERROR_UNINITIALIZE != 100001;
  wrong += ACL_ERROR_REPEAT_INITIALIZE != 100002;
  wrong += ACL_ERROR_INVALID_FILE != 100003;
  wrong += ACL_ERROR_INVALID_MODEL_ID != 100011;
  wrong += ACL_ERROR_REPEAT_FINALIZE != 100037;
  wrong += ACL_ERROR_BAD_ALLOC != 200000;
  wrong += ACL_ERROR_API_NOT_SUPPORT != 200001;
  wrong += ACL_ERROR_STORAGE_OVER_LIMIT != 300000;
  wrong += ACL_ERROR_INTERNAL_ERROR != 500000;
  wrong += ACL_ERROR_FAILURE != 500001;
  return wrong;
}
