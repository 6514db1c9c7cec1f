// Fuzzing the readers of .om files: whatever the bytes are, they end and stay within them. The bytes are a file, and,
// with their checksum put right, the part of a file that only Cistern writes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/crc32c.hpp"
#include "engine/om_file.hpp"
#include "engine/om_model.hpp"

namespace {

using cistern::engine::OmFile;

void read_as_file(std::span<const std::byte> bytes) {
  const auto read = OmFile::read(bytes);
  if (!read.is_ok()) return;
  static_cast<void>(read.value().describe());
  const auto own = read.value().own;
  if (own.empty() && read.value().weight_bytes > bytes.size()) std::abort();
  if (own.empty()) return;
  if (own.data() < bytes.data() || own.data() + own.size() > bytes.data() + bytes.size()) std::abort();
  static_cast<void>(cistern::engine::read_om_model(read.value()));
}

void read_as_model(std::span<const std::byte> bytes) {
  constexpr std::size_t kHeadBytes = 8;
  if (bytes.size() < kHeadBytes) return;
  std::vector<std::byte> own(bytes.begin(), bytes.end());
  const std::uint32_t head[] = {
      1, cistern::base::crc32c({reinterpret_cast<const char*>(own.data()) + kHeadBytes, own.size() - kHeadBytes})};
  std::memcpy(own.data(), head, sizeof head);
  OmFile file;
  file.whole = own;
  file.own = own;
  const auto read = cistern::engine::read_om_model(file);
  if (!read.is_ok()) return;
  if (read.value().onnx.size() > own.size()) std::abort();
  // What was taken for a model can be written, and is the same again.
  const auto again = cistern::engine::write_om_model(read.value().outline, read.value().onnx);
  if (!again.is_ok()) std::abort();
  const auto reread = OmFile::read(std::as_bytes(std::span(again.value())));
  if (!reread.is_ok()) std::abort();
  const auto model = cistern::engine::read_om_model(reread.value());
  if (!model.is_ok() || model.value().outline != read.value().outline) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  read_as_file(bytes);
  read_as_model(bytes);
  return 0;
}
