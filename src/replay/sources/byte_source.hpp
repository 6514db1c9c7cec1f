// ByteSource: the bytes of a trace file, decompressed as they are asked for.
//
// Whether a file is compressed is seen from its first bytes, never from its name. Nothing is held but one buffer of
// compressed input and the decompressor's own window, whatever the file unpacks to. Files made of several gzip members
// or zstd frames read as one; a file that ends in the middle of one is an error, so that half a trace is never taken
// for a whole one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace cistern::replay {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Up to `capacity` bytes into `to`; 0 at the end only.
  virtual base::Result<std::size_t> read(char* to, std::size_t capacity) noexcept = 0;
};

// The file's bytes, decompressed if they are .gz or .zst.
base::Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) noexcept;
// The same for bytes that are in memory already.
base::Result<std::unique_ptr<ByteSource>> open_bytes(std::string bytes) noexcept;

}  // namespace cistern::replay
