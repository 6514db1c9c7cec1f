// What a forked process may do with its parent's devices and pools: nothing, and it is told so.
//
// The child has a copy of the bookkeeping, but other threads' locks are held for ever, no thread works its streams, and
// a device's memory may be the parent's own. So all handles end in the child; calls with them, and opening a device,
// are refused until it has called exec(). That is the rule of GPU drivers, too.
#pragma once

#include "base/status.hpp"

namespace cistern::capi {

// From the first device on forks are watched. Once a process.
void watch_forks() noexcept;
bool was_forked() noexcept;
base::Status explain_fork();

}  // namespace cistern::capi
