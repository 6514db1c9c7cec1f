#include "engine/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cistern::engine {
namespace {

bool write_whole(int file, std::span<const std::byte> contents) noexcept {
  while (!contents.empty()) {
    const ssize_t written = ::write(file, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    contents = contents.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

base::Result<MemoryFile> MemoryFile::create(std::span<const std::byte> contents) noexcept {
  MemoryFile file(::memfd_create("model", MFD_CLOEXEC));
  if (file.file_ >= 0 && write_whole(file.file_, contents)) return file;
  return base::Status(
      base::StatusCode::out_of_memory,
      "no host memory for a copy of the model, " + std::to_string(contents.size()) + " bytes: " + std::strerror(errno));
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

MemoryFile::~MemoryFile() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace cistern::engine
