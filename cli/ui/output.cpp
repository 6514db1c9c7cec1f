// stdout through stdio's buffer; errors are kept by the stream until the end asks for them.
#include "cli/ui/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace cistern::cli {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

base::Status finish_output() {
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::ferror(stdout) == 0) return {};
  return {base::StatusCode::io_error, std::string("the output could not be written (") + std::strerror(error) + ")",
          error};
}

base::Status write_file(const std::string& path, std::string_view what, std::string_view contents) {
  struct stat there {};
  const bool is_special = ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);  // a pipe, /dev/stdout
  const std::string place = is_special ? path : path + ".partial-" + std::to_string(::getpid());
  int error = 0;
  const auto failed = [&](const char* how) {
    return base::Status(base::StatusCode::io_error,
                        path + ": " + std::string(what) + " can't be " + how + ": " + std::strerror(error), error);
  };
  const auto note = [&error](bool is_done) {  // the first error is the reason
    if (!is_done && error == 0) error = errno;
  };
  // Only a file of our own making is written to, and removed where it isn't whole.
  std::FILE* const file = std::fopen(place.c_str(), is_special ? "we" : "wxe");
  note(file != nullptr);
  if (file == nullptr) return failed("written");
  note(std::fwrite(contents.data(), 1, contents.size(), file) == contents.size());
  note(std::fflush(file) == 0);
  if (!is_special) note(::fsync(::fileno(file)) == 0);  // before the name: after a power cut it is whole, too
  note(std::fclose(file) == 0);
  if (is_special) return error == 0 ? base::Status() : failed("written whole");
  const char* const how = error == 0 ? "put in its place" : "written whole";
  if (error == 0) note(std::rename(place.c_str(), path.c_str()) == 0);
  if (error == 0) return {};
  ::unlink(place.c_str());
  return failed(how);
}

}  // namespace cistern::cli
