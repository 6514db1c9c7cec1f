/* cistern_ext.h: what Cistern adds to AscendCL. None of it exists in CANN; acl.h includes it.
 *
 * The environment variables ASCEND_MEMPOOL_* and ASCEND_MEMORY_POOL_MAX_SIZE, which act on the pool of every context,
 * are such additions, too (docs/reference/options.md).
 */
#ifndef CISTERN_ACL_EXT_H
#define CISTERN_ACL_EXT_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Another name for the code of a failed allocation. */
#define ACL_ERROR_MEM_ALLOC_FAIL ACL_ERROR_RT_MEMORY_ALLOCATION

/* The status of the current context's pool, in bytes: what it holds of the device (`total`), what of that is in use or
 * cannot serve at the moment (`used`), and what is free to serve; used + free = total. Any pointer may be NULL. Cheap.
 * Errors: ACL_ERROR_UNINITIALIZE, ACL_ERROR_RT_CONTEXT_NULL. Thread-safe. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemPoolInfo(size_t* total, size_t* used, size_t* free);

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_ACL_EXT_H */
