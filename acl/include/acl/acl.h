/* acl.h: Cistern's AscendCL interface, all of it: a simulated NPU on this machine whose memory comes from pools.
 *
 * Programs written for Ascend compile and link against these headers and libascendcl.so unchanged. What is here is
 * listed, with what is refused, in docs/reference/ascendcl.md; how to use it in docs/guide/ascend.md.
 */
#ifndef CISTERN_ACL_H
#define CISTERN_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_rt.h"
#include "acl/cistern_ext.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins. `configPath` is NULL or a readable file; what it asks for (dumps, profiling) does not exist here, so anything
 * but an empty object in it is logged. Reads the environment: an unknown CISTERN_* variable or a malformed value is
 * ACL_ERROR_INVALID_PARAM, and the text names variable, value and range. A repeated call is counted and returns
 * ACL_ERROR_REPEAT_INITIALIZE. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);
/* Ends, however often aclInit() was called: waits for work, gives everything back, and logs by name and call site what
 * the program had not. Handles and device addresses are invalid afterwards. ACL_ERROR_REPEAT_FINALIZE: has ended
 * already; ACL_ERROR_UNINITIALIZE: never began. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);
/* Takes one aclInit() back and ends with the last; the number that is left goes to `refCount` (may be NULL). */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);
/* The text of the calling thread's last failure, "" when there is none; valid until its next failure. Several lines
 * where memory ran out. Cannot fail. */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif /* CISTERN_ACL_H */
