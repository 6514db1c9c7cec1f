// ReadLimits: how much one file may make a reader keep. A file of a few kilobytes can unpack to terabytes, so what a
// reader holds is bounded by these numbers and not by what the file claims; a file beyond them is refused by name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cistern::replay {

struct ReadLimits {
  std::uint64_t events = 1ULL << 26;         // 2 GiB of TraceEvents
  std::uint64_t pickle_values = 1ULL << 27;  // about 3 GiB while a snapshot is read
  std::size_t line_bytes = 1U << 20;         // call stacks make lines long, but not longer than this
  std::uint64_t own_trace_bytes =
      1U << 30;  // of a trace of Cistern's own, unpacked: read whole, about 50 million events
};

// No block is larger: 64 PiB. What claims to be is a damaged file.
inline constexpr std::uint64_t kLargestBlock = 1ULL << 56;

}  // namespace cistern::replay
