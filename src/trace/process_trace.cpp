#include "trace/process_trace.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/log.hpp"
#include "trace/leaks.hpp"

namespace cistern::trace {
namespace {

constexpr std::size_t kGroupsInLog = 20;

// %p is the process: programs that a traced program starts inherit its environment, and each needs a file of its own.
std::string with_process(std::string path) {
  const std::string number = std::to_string(::getpid());
  for (std::size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at + number.size())) {
    path.replace(at, 2, number);
  }
  return path;
}

std::once_flag once;
// Never destroyed: pools may outlive every destructor of the program.
std::atomic<std::shared_ptr<Recorder>*> recorder_of_process{nullptr};
bool reports_leaks = false;
pid_t process = 0;

void finish() {
  if (::getpid() != process) return;  // a child's exit ends nothing of its parent's
  Recorder& recorder = **recorder_of_process.load();
  recorder.stop();
  if (!reports_leaks) return;
  const Trace live = recorder.live();
  if (live.events.empty()) return;
  CallSites sites;
  base::log(base::LogLevel::warning, "leaks", leak_summary(find_leaks(live, &sites), kGroupsInLog));
}

}  // namespace

RecorderOptions recorder_options_from(const base::OptionSet& options) {
  RecorderOptions chosen;
  if (options.flag("CISTERN_TRACE")) chosen.path = with_process(options.text("CISTERN_TRACE_FILE"));
  chosen.stack_depth = static_cast<unsigned>(options.integer("CISTERN_TRACE_STACK_DEPTH"));
  chosen.limit_bytes = options.bytes("CISTERN_TRACE_LIMIT_BYTES");
  chosen.waits_for_room = options.text("CISTERN_TRACE_WHEN_FULL") == "WAIT";
  return chosen;
}

std::shared_ptr<pool::Observer> observe_by_options(const base::OptionSet& options, std::string_view pool,
                                                   std::string_view device) {
  const bool leak_report = options.flag("CISTERN_LEAK_REPORT");
  if (!options.flag("CISTERN_TRACE") && !leak_report) return nullptr;
  std::call_once(once, [&] {
    reports_leaks = leak_report;
    process = ::getpid();
    recorder_of_process = new std::shared_ptr<Recorder>(Recorder::start(recorder_options_from(options)));
    std::atexit(&finish);
  });
  return (*recorder_of_process.load())->observe(pool, device);
}

void mark_trace_of_process(std::string_view text) {
  if (const std::shared_ptr<Recorder>* recorder = recorder_of_process.load()) (*recorder)->mark(text);
}

}  // namespace cistern::trace
