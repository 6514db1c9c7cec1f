#include "trace/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"

namespace cistern::trace {

LogFile::LogFile(std::string path) : path_(std::move(path)) { open(); }

LogFile::~LogFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LogFile::open() {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (descriptor_ < 0) return fail("opened", errno);
  struct stat info {};
  // A file that was there keeps its mode when it is emptied; call stacks and names are nobody else's business.
  if (::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode) && ::fchmod(descriptor_, 0600) != 0) {
    fail("made private", errno);
  }
}

void LogFile::fail(std::string_view what, int error) noexcept {
  if (++failures_ > 1) return;
  base::log(base::LogLevel::warning, "trace",
            "the trace file '" + path_ + "' could not be " + std::string(what) + ": " + std::strerror(error) +
                "; events are lost, the program goes on");
}

void LogFile::write(std::string_view bytes) noexcept {
  if (descriptor_ < 0) {
    ++failures_;
    return;
  }
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      fail("written", count < 0 ? errno : EIO);
      if (done > 0 && ::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0) {
        ::lseek(descriptor_, static_cast<off_t>(size_), SEEK_SET);
      }
      return;
    }
    done += static_cast<std::size_t>(count);
  }
  size_ += bytes.size();
}

void LogFile::rotate() {
  if (descriptor_ >= 0) ::close(descriptor_);
  const std::string before = path_ + ".1";
  if (::rename(path_.c_str(), before.c_str()) != 0) fail("renamed", errno);
  size_ = 0;
  open();
}

}  // namespace cistern::trace
