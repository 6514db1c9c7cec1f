// Log lines. The default path takes no lock and allocates nothing, so that it works when memory is the problem: one
// writev(2) of pieces that exist already. Only a sink costs a lock, held while it runs, so that nobody is called after
// set_log_sink() has returned.
#include "base/log.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>

namespace cistern::base {

namespace {

struct SinkSlot {
  std::mutex mutex;
  LogSink sink = nullptr;
  void* user = nullptr;
};

std::atomic<LogLevel> level_in_force{LogLevel::warning};
std::atomic<bool> has_sink{false};
thread_local bool inside_sink = false;

// Never destroyed: other objects may log while the process ends.
SinkSlot& sink_slot() noexcept {
  static SinkSlot* const slot = new SinkSlot;
  return *slot;
}

std::string_view level_name(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::none:
      break;
  }
  return "none";
}

iovec piece(std::string_view text) noexcept { return {const_cast<char*>(text.data()), text.size()}; }

void write_to_stderr(LogLevel level, std::string_view room, std::string_view text) noexcept {
  const int saved_errno = errno;
  const std::array<iovec, 7> line = {
      piece("cistern: "), piece(level_name(level)), piece(": "), piece(room), piece(": "), piece(text), piece("\n")};
  ssize_t written = 0;
  do {
    written = ::writev(STDERR_FILENO, line.data(), static_cast<int>(line.size()));
  } while (written < 0 && errno == EINTR);
  errno = saved_errno;  // a caller may be on its way to report it
}

}  // namespace

void set_log_level(LogLevel level) noexcept { level_in_force.store(level, std::memory_order_relaxed); }

LogLevel log_level() noexcept { return level_in_force.load(std::memory_order_relaxed); }

void set_log_sink(LogSink sink, void* user) noexcept {
  SinkSlot& slot = sink_slot();
  const std::lock_guard guard(slot.mutex);
  slot.sink = sink;
  slot.user = user;
  has_sink.store(sink != nullptr, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) noexcept { return level != LogLevel::none && level >= log_level(); }

void log(LogLevel level, std::string_view room, std::string_view text) noexcept {
  if (!log_enabled(level)) return;
  if (has_sink.load(std::memory_order_relaxed) && !inside_sink) {
    SinkSlot& slot = sink_slot();
    const std::lock_guard guard(slot.mutex);
    if (slot.sink != nullptr) {
      inside_sink = true;
      slot.sink(level, room, text, slot.user);
      inside_sink = false;
      return;
    }
  }
  write_to_stderr(level, room, text);
}

}  // namespace cistern::base
