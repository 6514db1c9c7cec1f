// A pool's snapshot as JSON, for people, reports and tools that read it back.
//
// Addresses are texts ("0x7f3a00000000"): JSON numbers above 2^53 do not survive every reader. All sizes are in bytes.
#pragma once

#include <string>

#include "pool/snapshot.hpp"

namespace cistern::capi {

inline constexpr int kSnapshotVersion = 1;  // of the format; new members do not change it

std::string snapshot_json(const pool::Snapshot& snapshot);

}  // namespace cistern::capi
