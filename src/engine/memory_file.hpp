// MemoryFile: bytes in memory as a file that has a path, for the runtime, which reads models from files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"

namespace cistern::engine {

class MemoryFile {
 public:
  // A copy of the bytes. out_of_memory where there is no room for it.
  static base::Result<MemoryFile> create(std::span<const std::byte> contents) noexcept;
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();
  const std::string& path() const noexcept { return path_; }  // of this process, while this lives

 private:
  explicit MemoryFile(int file) : file_(file), path_("/proc/self/fd/" + std::to_string(file)) {}
  int file_;  // -1: moved from
  std::string path_;
};

}  // namespace cistern::engine
