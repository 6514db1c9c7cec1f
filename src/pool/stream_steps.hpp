// What a miss tries with memory whose work is not complete: ask, let the stream wait on the device, wait.
//
// A stream's own pending memory needs no step: every search begins with it.
#pragma once

#include <memory>
#include <vector>

#include "pool/rescue.hpp"

namespace cistern::pool {

// retire events, insert wait, wait for oldest: see RescueOrder.
std::vector<std::unique_ptr<RescueStep>> stream_steps();

}  // namespace cistern::pool
