// Reader: a trace file, binary or text, as events.
//
// A file whose end is missing or damaged gives the events before, and says so in Trace::damage; nothing behind damage
// is believed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "trace/trace.hpp"

namespace cistern::trace {

// io_error where the file can't be read; corrupted or unsupported where its beginning is no trace of ours.
base::Result<Trace> read_trace(const std::string& path);
// The same of a file's bytes.
base::Result<Trace> parse_trace(std::string_view bytes);

// The two forms, for parse_trace.
base::Result<Trace> parse_binary_trace(std::string_view bytes);
base::Result<Trace> parse_text_trace(std::string_view bytes);

}  // namespace cistern::trace
