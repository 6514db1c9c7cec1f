// LogFile: a file that may fail at any time without anybody waiting or crashing for it.
//
// The first failure is one warning in the log; all are counted. What was written partly is taken back where the file
// can be cut, so that one full disk doesn't spoil what is written after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cistern::trace {

class LogFile {
 public:
  // Replaces the file, readable by its owner only. Neither follows a symbolic link nor waits for a reader of a pipe.
  explicit LogFile(std::string path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  void write(std::string_view bytes) noexcept;
  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t failures() const noexcept { return failures_; }
  // The file so far becomes PATH.1, replacing the one before, and an empty one takes its place.
  void rotate();

 private:
  void open();
  void fail(std::string_view what, int error) noexcept;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace cistern::trace
