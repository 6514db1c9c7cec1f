/* acl_dvpp.h: there for programs that include it. The image and video units of an NPU are not simulated, so nothing is
 * declared: a program that calls them does not compile, rather than fail at run time.
 */
#ifndef CISTERN_ACL_DVPP_H
#define CISTERN_ACL_DVPP_H

#include "acl/acl.h"

#endif /* CISTERN_ACL_DVPP_H */
