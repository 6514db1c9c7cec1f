// ProgressBar: how far a long command is, on stderr, where a person looks at it; nothing where stderr is a file or
// pipe.
//
// Thread-safety: none; one thread owns it. Drawing happens at most ten times a second, so advance() may be called
// often.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace cistern::cli {

// One line of at most `columns`: "replay  [#####.....]  50 %  500/1000". Pure; done may exceed total.
std::string progress_line(std::string_view label, std::uint64_t done, std::uint64_t total, std::size_t columns);

class ProgressBar {
 public:
  // total > 0
  ProgressBar(std::string label, std::uint64_t total);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance(std::uint64_t steps = 1);

 private:
  void draw();

  std::string label_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  std::uint64_t next_draw_ns_ = 0;
  bool is_shown_;
  base::SteadyClock clock_;
};

}  // namespace cistern::cli
