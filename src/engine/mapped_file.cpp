#include "engine/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cistern::engine {

base::Result<MappedFile> MappedFile::open(const std::string& path) noexcept {
  const auto failure = [&path](int code) {
    return base::Status(code == ENOENT ? base::StatusCode::not_found : base::StatusCode::io_error,
                        std::string("cannot read ").append(path).append(": ").append(std::strerror(code)));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failure(errno);
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    const int code = S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
    ::close(file);
    return failure(code);
  }
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* const mapped = bytes == 0 ? nullptr : ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  const int code = errno;
  ::close(file);
  if (mapped == MAP_FAILED) return failure(code);
  return MappedFile({static_cast<const std::byte*>(mapped), bytes});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : contents_(std::exchange(other.contents_, {})) {}

MappedFile::~MappedFile() {
  if (!contents_.empty()) ::munmap(const_cast<std::byte*>(contents_.data()), contents_.size());
}

}  // namespace cistern::engine
