// TextLog: one line an event, for grep and awk.
//
//   TIME NUMBER alloc SITE BYTES ADDRESS granted=N pool=N thread=N tag=TEXT stream=N stack=ADDRESS;ADDRESS...
//   TIME NUMBER free ADDRESS BYTES granted=N pool=N thread=N stream=N stack=...
// TIME is seconds of CLOCK_MONOTONIC, NUMBER the event's sequence number. Other events look like frees. Lines that
// begin with '#' explain: "# pool N NAME DEVICE", "# module BEGIN END BIAS PATH", "# dropped THREAD COUNT", "# newest
// NUMBER" (the newest event that had happened when the lines above were written), "# end". Only lines of allocations
// contain the letters "alloc".
#pragma once

#include <string>

#include "trace/call_site.hpp"
#include "trace/event_log.hpp"
#include "trace/log_file.hpp"

namespace cistern::trace {

inline constexpr std::string_view kTextHeader = "# cistern trace 1 text";

class TextLog final : public EventLog {
 public:
  explicit TextLog(const std::string& path);

  void write(const TraceEvent& event, const Tables& tables) override;
  void write_dropped(std::uint32_t thread, std::uint64_t count) override;
  void flush(std::uint64_t newest) override;
  void end() override;
  void rotate() override;
  std::uint64_t file_bytes() const noexcept override { return file_.size() + lines_.size(); }
  std::uint64_t failures() const noexcept override { return file_.failures(); }

 private:
  void write_header();
  void explain(const Tables& tables);
  void write_lines();
  void append_stack(std::uint32_t stack, const Tables& tables);

  LogFile file_;
  std::string lines_;
  CallSites sites_;
  ClockPair start_;
  ClockPair now_;
  std::size_t pools_ = 0;
  std::size_t modules_ = 0;
};

}  // namespace cistern::trace
