// MappedFile: a file in memory, for as long as this lives.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"

namespace cistern::engine {

class MappedFile {
 public:
  // not_found or io_error, with the file's name.
  static base::Result<MappedFile> open(const std::string& path) noexcept;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::span<const std::byte> contents() const noexcept { return contents_; }

 private:
  explicit MappedFile(std::span<const std::byte> contents) noexcept : contents_(contents) {}
  std::span<const std::byte> contents_;
};

}  // namespace cistern::engine
