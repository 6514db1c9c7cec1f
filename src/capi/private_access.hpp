// What libcistern.so offers to libascendcl.so of the same build, beyond the public interface: version node
// CISTERN_PRIVATE of cistern.map.
//
// The AscendCL library is a user of the C interface like any other, but must reach the device behind a handle (its
// pages, its events) and speak through the same log. Objects cross by their virtual functions only, so no symbol of a
// room has to be exported. Both libraries are of one build, which the version node enforces as far as a loader can.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cistern/cistern.h"
#include "device/device.hpp"

extern "C" {

// The device behind an open handle, valid until the handle is closed; null: no valid handle.
CISTERN_API cistern::device::Device* cistern_private_device(cistern_device_t* device) noexcept;

// base::log() of libcistern.so, with its level and its sink. The texts need not end in NUL.
CISTERN_API void cistern_private_log(std::int32_t level, const char* room, std::size_t room_bytes, const char* text,
                                     std::size_t text_bytes) noexcept;
}
