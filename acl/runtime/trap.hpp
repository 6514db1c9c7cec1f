// Trap: what happens in strict mode when the program follows a device address on the host, as no program can on a real
// NPU: the address, the block it lies in or behind, and the program's stack go to stderr; then the signal takes its
// course.
#pragma once

namespace cistern::acl {

// Once; further calls do nothing. A handler of the program's that was there before is called afterwards.
void install_trap();

}  // namespace cistern::acl
