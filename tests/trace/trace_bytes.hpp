// Binary traces for fuzzers, which can't guess check sums: any records as a file of one chunk whose sums are right.
#pragma once

#include <string>

#include "base/crc32c.hpp"
#include "trace/binary_format.hpp"

namespace cistern::trace {

inline std::string with_check_sums(const std::string& records) {
  std::string file(kFileMagic);
  put_fixed(&file, kFormatVersion, 4);
  put_fixed(&file, kFileHeaderBytes, 4);
  put_fixed(&file, 1000, 8);
  put_fixed(&file, 2000, 8);
  put_fixed(&file, 1, 8);
  put_fixed(&file, 0, 8);
  put_fixed(&file, 0, 4);
  put_fixed(&file, base::crc32c(file), 4);
  std::string chunk(kChunkMagic);
  put_fixed(&chunk, records.size(), 4);
  put_fixed(&chunk, 0, 8);
  put_fixed(&chunk, 5000, 8);
  put_fixed(&chunk, 9000, 8);
  put_fixed(&chunk, 7, 8);
  put_fixed(&chunk, base::crc32c(records), 4);
  put_fixed(&chunk, base::crc32c(chunk), 4);
  return file + chunk + records;
}

}  // namespace cistern::trace
