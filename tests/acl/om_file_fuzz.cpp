// Fuzzing the reader of .om files: whatever the bytes are, it ends and stays within them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "acl/model/om_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = cistern::acl::OmFile::read({reinterpret_cast<const std::byte*>(data), size});
  if (read.is_ok() && read.value().weight_bytes > size) std::abort();
  if (read.is_ok()) static_cast<void>(read.value().describe());
  return 0;
}
