// The part of the environment that concerns the log of the whole process.
#pragma once

namespace cistern::capi {

// Once a process; without effect after cistern_set_log_level(). An environment that cannot be read is a warning here
// and an error where its options are asked for.
void apply_log_level_of_environment();

}  // namespace cistern::capi
