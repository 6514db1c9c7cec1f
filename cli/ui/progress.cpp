// Progress on one terminal line that is drawn over itself; the line is wiped at the end, so that results stand alone.
#include "cli/ui/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/utf8.hpp"

namespace cistern::cli {

namespace {

constexpr std::uint64_t kDrawEveryNs = 100'000'000;
constexpr std::size_t kMaxBarColumns = 40;

std::size_t terminal_columns() noexcept {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string progress_line(std::string_view label, std::uint64_t done, std::uint64_t total, std::size_t columns) {
  done = std::min(done, total);
  const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
  std::string percent = std::to_string(static_cast<int>(share * 100.0));
  percent.insert(0, 3 - std::min<std::size_t>(3, percent.size()), ' ');
  const std::string tail = "  " + percent + " %  " + std::to_string(done) + "/" + std::to_string(total);
  const std::size_t fixed = base::display_width(label) + 4 + tail.size();  // two spaces and the bar's brackets
  if (fixed + 4 > columns) return tail.substr(2, columns);
  const std::size_t bar = std::min(kMaxBarColumns, columns - fixed);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(bar));
  return std::string(label) + "  [" + std::string(filled, '#') + std::string(bar - filled, '.') + "]" + tail;
}

ProgressBar::ProgressBar(std::string label, std::uint64_t total)
    : label_(std::move(label)), total_(total), is_shown_(::isatty(STDERR_FILENO) == 1) {
  if (is_shown_) draw();
}

ProgressBar::~ProgressBar() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::advance(std::uint64_t steps) {
  done_ += steps;
  if (is_shown_ && clock_.now_ns() >= next_draw_ns_) draw();
}

void ProgressBar::draw() {
  next_draw_ns_ = clock_.now_ns() + kDrawEveryNs;
  const std::string line = "\r" + progress_line(label_, done_, total_, terminal_columns() - 1) + "\x1b[K";
  std::fputs(line.c_str(), stderr);
}

}  // namespace cistern::cli
