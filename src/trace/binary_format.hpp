// The binary trace, version 2: how a file is laid out. All numbers are little-endian.
//
//   file    = header, chunk...            header = "CISTRACE", u32 version, u32 header bytes, u64 ticks, u64 ns,
//                                                  u64 process, u64 0, u32 0, u32 CRC-32C of all that
//   chunk   = chunk header, record...     chunk header = "CHNK", u32 bytes of records, u64 number (from 0), u64 ticks,
//                                                  u64 ns, u64 newest, u32 CRC-32C of the records,
//                                                  u32 CRC-32C of all that
//   record  = kind, fields                numbers in them are LEB128; differences are zigzag; texts have their length
//                                         in front
// The clock pairs of header and chunks are moments by both clocks; an event's time lies on the line between them.
// `newest` is the number of the newest event that had happened when the chunk was written, in the file or not: after a
// kill it tells how many are missing. Differences start at 0 in each chunk, so that a chunk can be read by itself.
// Whatever number an event has (pool, tag, stack) was explained by a record before it. A file whose last record is not
// `end` was not closed: the process was killed, or still runs.
//
// Events are most of a file, so their kind says more: bit 4 that it is one, the low bits its operation, bit 5 that pool
// and thread are those of the chunk's event before it, bit 6 that tag, stream and stack are 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cistern::trace {

inline constexpr std::string_view kFileMagic = "CISTRACE";
inline constexpr std::string_view kChunkMagic = "CHNK";
inline constexpr std::uint32_t kFormatVersion = 2;
inline constexpr std::size_t kFileHeaderBytes = 56;
inline constexpr std::size_t kChunkHeaderBytes = 48;
inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;     // where a writer begins a new one
inline constexpr std::size_t kMaxChunkBytes = std::size_t{16} << 20;  // what a reader takes

enum class RecordKind : std::uint8_t {
  pool = 2,     // pool, name, device
  tag = 3,      // pool, tag, text
  stack = 4,    // count, diff address...; numbered from 1 in the order of the file
  module = 5,   // begin, bytes, bias, path
  dropped = 6,  // thread, count
  end = 7,
  // [pool, thread,] diff sequence, diff ticks, diff address, requested, granted - requested (zigzag)[, tag, stream,
  // stack]
  event = 0x10,
};
inline constexpr std::uint8_t kEventOpBits = 0x0F;
inline constexpr std::uint8_t kSamePlaceBit = 0x20;
inline constexpr std::uint8_t kNoNamesBit = 0x40;
inline constexpr std::size_t kMostEventBytes = 1 + 7 * 10 + 3 * 5;

constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return difference << 1 ^ (~(difference >> 63) + 1);
}
constexpr std::uint64_t unzigzag(std::uint64_t value) noexcept { return value >> 1 ^ (~(value & 1) + 1); }

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

// To `at`, where there is room for ten bytes; returns the place behind.
inline char* put_number(char* at, std::uint64_t value) noexcept {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>((value & 0x7F) | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

inline char* put_difference(char* at, std::uint64_t value, std::uint64_t* last) noexcept {
  at = put_number(at, zigzag(value - *last));
  *last = value;
  return at;
}

inline void put_number(std::string* out, std::uint64_t value) {
  char bytes[10];
  out->append(bytes, static_cast<std::size_t>(put_number(bytes, value) - bytes));
}

inline void put_difference(std::string* out, std::uint64_t value, std::uint64_t* last) {
  put_number(out, zigzag(value - *last));
  *last = value;
}

inline void put_text(std::string* out, std::string_view text) {
  put_number(out, text.size());
  out->append(text);
}

}  // namespace cistern::trace
