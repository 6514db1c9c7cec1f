// Input: a trace file's bytes in order, with the place where reading stands, which every error names: the line of a
// text, the byte of a binary file. Offsets count decompressed bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "replay/sources/byte_source.hpp"
#include "replay/sources/read_limits.hpp"

namespace cistern::replay {

class Input {
 public:
  Input(std::unique_ptr<ByteSource> source, const ReadLimits& limits);

  // The bytes ahead, up to `count` of them (no more than 64 KiB), without taking them. The view is good until the next
  // call.
  base::Result<std::string_view> peek(std::size_t count) noexcept;
  // The next line without its end (\n or \r\n) and the file's byte order mark; false at the end of the file. The view
  // is good until the next call.
  base::Result<bool> next_line(std::string_view& line) noexcept;
  // Exactly `count` bytes, or an error that says the file was cut short.
  base::Status take(char* to, std::size_t count) noexcept;
  base::Status skip(std::uint64_t count) noexcept;

  std::uint64_t offset() const noexcept { return offset_; }
  std::uint64_t line_number() const noexcept { return line_number_; }  // of the line read last, from 1
  const ReadLimits& limits() const noexcept { return limits_; }
  // What is wrong with the line read last: "line 7: ...".
  base::Status bad_line(const std::string& what) const;
  // The same failure with that line before its text; success stays success.
  base::Status at_line(const base::Status& outcome) const;

 private:
  base::Status refill() noexcept;
  base::Status ended_early() const;

  std::unique_ptr<ByteSource> source_;
  ReadLimits limits_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t line_number_ = 0;
  std::string line_;
};

}  // namespace cistern::replay
