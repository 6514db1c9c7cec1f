// The readers, one a format: from the start of a file to a trace. read_trace() chooses between them.
#pragma once

#include "base/result.hpp"
#include "replay/sources/input.hpp"
#include "replay/trace_data.hpp"

namespace cistern::replay {

using TraceReader = base::Result<TraceData> (*)(Input* input) noexcept;

base::Result<TraceData> read_plain_csv(Input* input) noexcept;
base::Result<TraceData> read_lifetimes(Input* input) noexcept;
base::Result<TraceData> read_pytorch_snapshot(Input* input) noexcept;
base::Result<TraceData> read_rmm_csv(Input* input) noexcept;
base::Result<TraceData> read_operator_memory(Input* input) noexcept;
base::Result<TraceData> read_memscope_pool(Input* input) noexcept;    // events of the framework's pool
base::Result<TraceData> read_memscope_driver(Input* input) noexcept;  // requests to the driver
base::Result<TraceData> read_umpire_replay(Input* input) noexcept;
base::Result<TraceData> read_own_trace(Input* input) noexcept;

}  // namespace cistern::replay
