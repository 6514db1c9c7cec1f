// stdout through stdio's buffer; errors are kept by the stream until the end asks for them.
#include "cli/ui/output.hpp"

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

}  // namespace cistern::cli
