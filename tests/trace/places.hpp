// Places that allocate, by names that are not Cistern's own: what a call site in a trace should be.
#pragma once

#include "pool/pool.hpp"

extern "C" cistern::device::Address place_of_weights(cistern::pool::Pool* pool, std::uint64_t bytes);
extern "C" cistern::device::Address place_of_requests(cistern::pool::Pool* pool, std::uint64_t bytes);
// Frees from a function whose name contains "alloc".
extern "C" void deallocate_place(cistern::pool::Pool* pool, cistern::device::Address address);
