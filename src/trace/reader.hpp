// Reader: a trace file, binary or text, as events.
//
// A file whose end is missing or damaged gives the events before, and says so in Trace::damage; nothing behind damage
// is believed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "trace/trace.hpp"

namespace cistern::trace {

// io_error where the file can't be read; corrupted or unsupported where its beginning is no trace of ours.
base::Result<Trace> read_trace(const std::string& path);
// The same of a file's bytes.
base::Result<Trace> parse_trace(std::string_view bytes);

// Whether a file that begins so is meant to be a trace of ours.
bool is_trace(std::string_view head) noexcept;
// What a trace lacks, each as the end of a sentence: "has no end: the program was killed or still runs". Empty:
// nothing.
std::vector<std::string> what_is_missing(const Trace& trace);

// The two forms, for parse_trace.
base::Result<Trace> parse_binary_trace(std::string_view bytes);
base::Result<Trace> parse_text_trace(std::string_view bytes);

}  // namespace cistern::trace
