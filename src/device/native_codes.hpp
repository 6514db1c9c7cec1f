// Native codes of simulated failures: AscendCL's numbers, so that what reads them learns nothing wrong.
#pragma once

#include <cstdint>

namespace cistern::device {

inline constexpr std::int64_t kAclErrorMemoryAllocation = 207001;  // ACL_ERROR_RT_MEMORY_ALLOCATION
inline constexpr std::int64_t kAclErrorDriverInternal = 507899;    // ACL_ERROR_RT_DRV_INTERNAL_ERROR

}  // namespace cistern::device
