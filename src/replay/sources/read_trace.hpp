// read_trace: a trace from any file that is understood, told apart by its content.
//
//   csv              op,id,size,time_ns,stream
//   lifetimes        id,lower,upper,size (upper exclusive)
//   pytorch          memory snapshot of PyTorch or torch_npu (.pickle, .pkl)
//   rmm              log of RMM's logging adaptor
//   operator-memory  operator_memory.csv of the Ascend profiler
//   memscope         CSV of msMemScope: the framework's pool
//   memscope-hal     the same file: requests to the driver (only when asked for by name)
//   umpire           Umpire's replay log
//   cistern          what Cistern's own recorder writes, binary or text
//
// Each may be compressed with gzip or zstd. What a file holds that is no clean event is counted in the trace's remarks;
// what makes it unreadable is an error that names file, line or byte, and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "replay/sources/read_limits.hpp"
#include "replay/trace_data.hpp"

namespace cistern::replay {

// The names above, in this order.
std::vector<std::string_view> trace_format_names();

// `format`: one of the names, or empty to find out.
base::Result<TraceData> read_trace(const std::string& path, std::string_view format = {},
                                   const ReadLimits& limits = {}) noexcept;
// The same for a file's bytes; the trace gets no name.
base::Result<TraceData> read_trace_bytes(std::string bytes, std::string_view format = {},
                                         const ReadLimits& limits = {}) noexcept;

}  // namespace cistern::replay
