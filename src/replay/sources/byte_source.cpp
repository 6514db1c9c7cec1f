#include "replay/sources/byte_source.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace cistern::replay {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr std::size_t kInputBytes = std::size_t{128} << 10;

Status damaged(std::string_view form, std::string_view what) {
  return {StatusCode::corrupted,
          "the " + std::string(form) + " data is damaged (" + std::string(what) + "); fetch or record the file again"};
}

Status cut_short(std::string_view form) {
  return {StatusCode::corrupted,
          "the " + std::string(form) + " data ends in the middle; the file was cut short, fetch or record it again"};
}

class FileSource final : public ByteSource {
 public:
  explicit FileSource(std::FILE* file) noexcept : file_(file) {}
  ~FileSource() override { std::fclose(file_); }

  Result<std::size_t> read(char* to, std::size_t capacity) noexcept override {
    const std::size_t count = std::fread(to, 1, capacity, file_);
    if (count == 0 && std::ferror(file_) != 0) {
      return Status(StatusCode::io_error, std::string("the file can't be read: ") + std::strerror(errno));
    }
    return count;
  }

 private:
  std::FILE* file_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) noexcept : bytes_(std::move(bytes)) {}

  Result<std::size_t> read(char* to, std::size_t capacity) noexcept override {
    const std::size_t count = std::min(capacity, bytes_.size() - position_);
    std::memcpy(to, bytes_.data() + position_, count);
    position_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t position_ = 0;
};

// A buffer in front of a source, for what looks at bytes before it takes them.
class Pending {
 public:
  explicit Pending(std::unique_ptr<ByteSource> source) : source_(std::move(source)), buffer_(kInputBytes) {}

  // At least one more byte in the buffer, unless the source is at its end.
  Status fill() noexcept {
    if (begin_ != end_) return {};
    begin_ = end_ = 0;
    auto count = source_->read(buffer_.data(), buffer_.size());
    if (!count.is_ok()) return count.take_status();
    end_ = count.value();
    return {};
  }
  std::string_view bytes() const noexcept { return {buffer_.data() + begin_, end_ - begin_}; }
  void drop(std::size_t count) noexcept { begin_ += count; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(Pending input) noexcept : input_(std::move(input)) {}

  Result<std::size_t> read(char* to, std::size_t capacity) noexcept override {
    if (Status failed = input_.fill(); !failed.is_ok()) return failed;
    const std::size_t count = std::min(capacity, input_.bytes().size());
    std::memcpy(to, input_.bytes().data(), count);
    input_.drop(count);
    return count;
  }

 private:
  Pending input_;
};

class GzipSource final : public ByteSource {
 public:
  static Result<std::unique_ptr<ByteSource>> create(Pending input) {
    auto source = std::unique_ptr<GzipSource>(new GzipSource(std::move(input)));
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&source->stream_, kGzipOnly) != Z_OK) return base::internal_error("zlib can't be started");
    source->is_started_ = true;
    return std::unique_ptr<ByteSource>(std::move(source));
  }
  ~GzipSource() override {
    if (is_started_) inflateEnd(&stream_);
  }

  Result<std::size_t> read(char* to, std::size_t capacity) noexcept override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(capacity, 1U << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (Status failed = input_.fill(); !failed.is_ok()) return failed;
      const std::string_view bytes = input_.bytes();
      if (bytes.empty()) return is_between_members_ ? Result<std::size_t>(std::size_t{0}) : cut_short("gzip");
      if (is_between_members_ && inflateReset(&stream_) != Z_OK) return base::internal_error("zlib can't go on");
      is_between_members_ = false;
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(bytes.size());
      const int outcome = inflate(&stream_, Z_NO_FLUSH);
      input_.drop(bytes.size() - stream_.avail_in);
      if (outcome == Z_STREAM_END) {
        is_between_members_ = true;
      } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
        return damaged("gzip", stream_.msg != nullptr ? stream_.msg : "no reason given");
      }
    }
    return static_cast<std::size_t>(wanted - stream_.avail_out);
  }

 private:
  explicit GzipSource(Pending input) noexcept : input_(std::move(input)) {}

  Pending input_;
  z_stream stream_{};
  bool is_started_ = false;
  bool is_between_members_ = false;
};

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(Pending input) noexcept : input_(std::move(input)), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  Result<std::size_t> read(char* to, std::size_t capacity) noexcept override {
    if (stream_ == nullptr) return base::internal_error("libzstd can't be started");
    ZSTD_outBuffer out{to, capacity, 0};
    while (out.pos == 0) {
      if (Status failed = input_.fill(); !failed.is_ok()) return failed;
      const std::string_view bytes = input_.bytes();
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      // With no input left this still hands out what the decompressor holds back.
      const std::size_t outcome = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(outcome) != 0) return damaged("zstd", ZSTD_getErrorName(outcome));
      input_.drop(in.pos);
      if (bytes.empty() && out.pos == 0) {
        return is_between_frames_ ? Result<std::size_t>(std::size_t{0}) : cut_short("zstd");
      }
      is_between_frames_ = outcome == 0;
    }
    return out.pos;
  }

 private:
  Pending input_;
  ZSTD_DStream* stream_;
  bool is_between_frames_ = false;
};

Result<std::unique_ptr<ByteSource>> decompressed(std::unique_ptr<ByteSource> raw) {
  Pending input(std::move(raw));
  if (Status failed = input.fill(); !failed.is_ok()) return failed;
  const std::string_view head = input.bytes();
  if (head.starts_with("\x1f\x8b")) return GzipSource::create(std::move(input));
  if (head.starts_with("\x28\xb5\x2f\xfd")) {
    return std::unique_ptr<ByteSource>(std::make_unique<ZstdSource>(std::move(input)));
  }
  return std::unique_ptr<ByteSource>(std::make_unique<PlainSource>(std::move(input)));
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) noexcept {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    const int reason = errno;
    const StatusCode code = reason == ENOENT ? StatusCode::not_found : StatusCode::io_error;
    return Status(code, std::string("the file can't be opened: ") + std::strerror(reason));
  }
  return decompressed(std::make_unique<FileSource>(file));
}

Result<std::unique_ptr<ByteSource>> open_bytes(std::string bytes) noexcept {
  return decompressed(std::make_unique<MemorySource>(std::move(bytes)));
}

}  // namespace cistern::replay
