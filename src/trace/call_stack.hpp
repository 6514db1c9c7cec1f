// CallStack: where in the program a call came from, as raw return addresses. Names are found later, by somebody else.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace cistern::trace {

// At most `most` return addresses into `out`, from `caller` (a return address on this thread's stack) outwards; where
// `caller` is not found, from this function's caller. Takes no lock and, after a thread's first call, no memory.
unsigned capture_stack(const void* caller, std::uint64_t* out, unsigned most) noexcept;

// The code that is loaded now, ascending. For the writer's thread: takes the loader's lock.
std::vector<Module> loaded_modules();

}  // namespace cistern::trace
