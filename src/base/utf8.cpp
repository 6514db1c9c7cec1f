// UTF-8 by the table of well-formed sequences (Unicode, chapter 3): the first byte fixes the length and the range of
// the second byte, and that range alone excludes overlong forms, surrogates and codes beyond the last one.
#include "base/utf8.hpp"

#include <array>

namespace cistern::base {

namespace {

struct Lead {
  std::size_t bytes;  // 0: cannot begin a character
  unsigned char second_min;
  unsigned char second_max;
};

Lead lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Blocks, not single characters: what tags and model names in Chinese, Japanese and Korean need.
constexpr std::array<CodeRange, 12> kWide = {{{0x1100, 0x115f},
                                              {0x2e80, 0x303e},
                                              {0x3041, 0x33ff},
                                              {0x3400, 0x4dbf},
                                              {0x4e00, 0x9fff},
                                              {0xa000, 0xa4cf},
                                              {0xac00, 0xd7a3},
                                              {0xf900, 0xfaff},
                                              {0xfe30, 0xfe6f},
                                              {0xff00, 0xff60},
                                              {0xffe0, 0xffe6},
                                              {0x1f300, 0x3fffd}}};
constexpr std::array<CodeRange, 8> kZeroWidth = {{{0x0000, 0x001f},
                                                  {0x007f, 0x009f},
                                                  {0x0300, 0x036f},
                                                  {0x1ab0, 0x1aff},
                                                  {0x200b, 0x200f},
                                                  {0x20d0, 0x20ff},
                                                  {0xfe00, 0xfe0f},
                                                  {0xfe20, 0xfe2f}}};

template <std::size_t N>
bool contains(const std::array<CodeRange, N>& ranges, char32_t code) noexcept {
  for (const CodeRange& range : ranges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

}  // namespace

Utf8Character first_character(std::string_view text) noexcept {
  const auto byte_at = [&](std::size_t i) noexcept { return static_cast<unsigned char>(text[i]); };
  const Lead lead = lead_of(byte_at(0));
  if (lead.bytes == 0) return {0xfffd, 1, false};
  if (lead.bytes == 1) return {byte_at(0), 1, true};
  char32_t code = byte_at(0) & (0x7fU >> lead.bytes);
  for (std::size_t i = 1; i < lead.bytes; ++i) {
    const unsigned char least = i == 1 ? lead.second_min : 0x80;
    const unsigned char most = i == 1 ? lead.second_max : 0xbf;
    if (i >= text.size() || byte_at(i) < least || byte_at(i) > most) return {0xfffd, i, false};
    code = (code << 6) | (byte_at(i) & 0x3fU);
  }
  return {code, lead.bytes, true};
}

std::size_t display_width(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    text.remove_prefix(character.bytes);
    if (contains(kZeroWidth, character.code)) continue;
    columns += contains(kWide, character.code) ? 2 : 1;
  }
  return columns;
}

}  // namespace cistern::base
