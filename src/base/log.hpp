// Log: leveled lines to stderr (or a sink), cheap when the level is off.
//
// Levels are AscendCL's (ASCEND_GLOBAL_LOG_LEVEL): 0 debug, 1 info, 2 warning, 3 error, 4 none. Default: warning.
// Thread-safety: all. A line is written by one write(2), so lines of several threads never mix.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace cistern::base {

enum class LogLevel : std::int32_t { debug = 0, info = 1, warning = 2, error = 3, none = 4 };

using LogSink = void (*)(LogLevel level, std::string_view room, std::string_view text, void* user);

void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;
// Null restores stderr. After the return nobody is inside the sink that was there before. A sink must not throw nor
// call set_log_sink; a line that a sink logs itself goes to stderr.
void set_log_sink(LogSink sink, void* user) noexcept;

bool log_enabled(LogLevel level) noexcept;
// `room` is the part of the house that speaks: "pool", "device". Does nothing below the level in force.
void log(LogLevel level, std::string_view room, std::string_view text) noexcept;

}  // namespace cistern::base
