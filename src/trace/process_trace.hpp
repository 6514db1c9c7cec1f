// The recorder of the whole process, as the options say: CISTERN_TRACE writes a file, CISTERN_LEAK_REPORT tells at exit
// what was never freed.
#pragma once

#include <memory>
#include <string_view>

#include "base/options.hpp"
#include "pool/observer.hpp"
#include "trace/recorder.hpp"

namespace cistern::trace {

// An observer for one pool; null where the options want no recorder. The first call that wants one starts it, with its
// options; it ends when the process exits.
std::shared_ptr<pool::Observer> observe_by_options(const base::OptionSet& options, std::string_view pool,
                                                   std::string_view device);

// A mark in that recorder's trace, if there is one.
void mark_trace_of_process(std::string_view text);

// What observe_by_options starts.
RecorderOptions recorder_options_from(const base::OptionSet& options);

}  // namespace cistern::trace
