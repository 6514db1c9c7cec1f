// The binary trace, version 1: how a file is laid out. All numbers are little-endian.
//
//   file    = header, chunk...            header = "CISTRACE", u32 version, u32 header bytes, u64 ticks, u64 ns,
//                                                  u64 process, u64 0, u32 0, u32 CRC-32C of all that
//   chunk   = chunk header, record...     chunk header = "CHNK", u32 bytes of records, u64 number (from 0), u64 ticks,
//                                                  u64 ns, u32 CRC-32C of the records, u32 CRC-32C of all that
//   record  = kind, fields                numbers in them are LEB128; differences are zigzag; texts have their length
//                                         in front
// The clock pairs of header and chunks are moments by both clocks; an event's time lies on the line between them.
// Differences start at 0 in each chunk, so that a chunk can be read by itself. Whatever number an event has (pool, tag,
// stack) was explained by a record before it. A file whose last record is not `end` was not closed: the process was
// killed, or still runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cistern::trace {

inline constexpr std::string_view kFileMagic = "CISTRACE";
inline constexpr std::string_view kChunkMagic = "CHNK";
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kFileHeaderBytes = 56;
inline constexpr std::size_t kChunkHeaderBytes = 40;
inline constexpr std::size_t kChunkBytes = 64 * 1024;            // where a writer begins a new one
inline constexpr std::size_t kMaxChunkBytes = 16 * 1024 * 1024;  // what a reader takes

enum class RecordKind : std::uint8_t {
  event = 1,    // op, pool, thread, diff sequence, diff ticks, diff address, requested, granted, tag, stream, stack
  pool = 2,     // pool, name, device
  tag = 3,      // pool, tag, text
  stack = 4,    // count, diff address...; numbered from 1 in the order of the file
  module = 5,   // begin, bytes, bias, path
  dropped = 6,  // thread, count
  end = 7,
};

inline void put_fixed(std::string* out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

inline std::uint64_t get_fixed(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

inline void put_number(std::string* out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>((value & 0x7F) | 0x80));
  out->push_back(static_cast<char>(value));
}

inline void put_difference(std::string* out, std::uint64_t value, std::uint64_t* last) {
  const auto difference = static_cast<std::int64_t>(value - *last);
  put_number(out, static_cast<std::uint64_t>(difference) << 1 ^ static_cast<std::uint64_t>(difference >> 63));
  *last = value;
}

inline void put_text(std::string* out, std::string_view text) {
  put_number(out, text.size());
  out->append(text);
}

}  // namespace cistern::trace
