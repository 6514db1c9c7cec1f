// The attributes of an allocation, as the C interface gives them.
#pragma once

#include <string_view>

#include "cistern/cistern.h"
#include "pool/pool.hpp"

namespace cistern::capi {

// Tags and names are bounded so that cistern_block_info holds every one of them whole. NULL is no text.
base::Status read_text(const char* given, std::string_view what, std::string_view* text);

// The tag is interned in `pool`. The name in the request is the caller's text.
base::Result<pool::AllocationRequest> read_allocation(pool::Pool& pool, const cistern_allocation_t* given);

}  // namespace cistern::capi
