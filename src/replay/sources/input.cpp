#include "replay/sources/input.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cistern::replay {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
}  // namespace

Input::Input(std::unique_ptr<ByteSource> source, const ReadLimits& limits)
    : source_(std::move(source)), limits_(limits), buffer_(kBufferBytes) {}

// More bytes behind those that are there, as many as fit; none at the end of the file.
Status Input::refill() noexcept {
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  auto count = source_->read(buffer_.data() + end_, buffer_.size() - end_);
  if (!count.is_ok()) return count.take_status();
  end_ += count.value();
  return {};
}

Result<std::string_view> Input::peek(std::size_t count) noexcept {
  const std::size_t wanted = std::min(count, buffer_.size());
  while (end_ - begin_ < wanted) {
    const std::size_t before = end_ - begin_;
    if (Status failed = refill(); !failed.is_ok()) return failed;
    if (end_ - begin_ == before) break;
  }
  return std::string_view(buffer_.data() + begin_, std::min(wanted, end_ - begin_));
}

Result<bool> Input::next_line(std::string_view& line) noexcept {
  line_.clear();
  bool found_end = false;
  while (!found_end) {
    if (begin_ == end_) {
      if (Status failed = refill(); !failed.is_ok()) return failed;
      if (begin_ == end_) break;
    }
    const char* from = buffer_.data() + begin_;
    const void* end = std::memchr(from, '\n', end_ - begin_);
    found_end = end != nullptr;
    const std::size_t count =
        found_end ? static_cast<std::size_t>(static_cast<const char*>(end) - from) : end_ - begin_;
    if (line_.size() + count > limits_.line_bytes) {
      ++line_number_;
      return bad_line("is longer than " + std::to_string(limits_.line_bytes) + " bytes; this is no trace in text form");
    }
    line_.append(from, count);
    begin_ += count + (found_end ? 1 : 0);
    offset_ += count + (found_end ? 1 : 0);
  }
  if (!found_end && line_.empty()) return false;
  ++line_number_;
  if (line_.ends_with('\r')) line_.pop_back();
  line = line_;
  if (line_number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return true;
}

Status Input::take(char* to, std::size_t count) noexcept {
  while (count != 0) {
    if (begin_ == end_) {
      if (Status failed = refill(); !failed.is_ok()) return failed;
      if (begin_ == end_) return ended_early();
    }
    const std::size_t part = std::min(count, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, part);
    begin_ += part;
    offset_ += part;
    to += part;
    count -= part;
  }
  return {};
}

Status Input::skip(std::uint64_t count) noexcept {
  while (count != 0) {
    if (begin_ == end_) {
      if (Status failed = refill(); !failed.is_ok()) return failed;
      if (begin_ == end_) return ended_early();
    }
    const std::uint64_t part = std::min<std::uint64_t>(count, end_ - begin_);
    begin_ += part;
    offset_ += part;
    count -= part;
  }
  return {};
}

Status Input::ended_early() const {
  return {StatusCode::corrupted, "the file ends at byte " + std::to_string(offset_) +
                                     ", in the middle of its data; it was cut short, fetch or record it again"};
}

Status Input::bad_line(const std::string& what) const { return at_line({StatusCode::corrupted, what}); }

Status Input::at_line(const Status& outcome) const {
  return outcome.is_ok() ? outcome : outcome.with_context("line " + std::to_string(line_number_));
}

}  // namespace cistern::replay
