#include "trace/escape.hpp"

#include <charconv>

namespace cistern::trace {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

void append_code(std::string* out, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  out->push_back('%');
  out->push_back(kDigits[value >> 4]);
  out->push_back(kDigits[value & 0xF]);
}

int digit_value(char digit) {
  const std::size_t at = kDigits.find(digit);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::string escape(std::string_view text, bool hide_alloc) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    const bool is_plain = byte > ' ' && byte < 0x7F && byte != '%' && byte != ';';
    if (is_plain && !(hide_alloc && text.substr(i, 5) == "alloc")) {
      out.push_back(byte);
    } else {
      append_code(&out, byte);
    }
  }
  return out;
}

}  // namespace

std::string escaped(std::string_view text) { return escape(text, false); }
std::string escaped_without_alloc(std::string_view text) { return escape(text, true); }

std::string unescaped(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const int high = word[i] == '%' && i + 2 < word.size() ? digit_value(word[i + 1]) : -1;
    const int low = high >= 0 ? digit_value(word[i + 2]) : -1;
    if (low < 0) {
      out.push_back(word[i]);
    } else {
      out.push_back(static_cast<char>(high << 4 | low));
      i += 2;
    }
  }
  return out;
}

std::string hexadecimal(std::uint64_t value) {
  char text[19] = "0x";
  const auto end = std::to_chars(text + 2, text + sizeof text, value, 16).ptr;
  return std::string(text, end);
}

}  // namespace cistern::trace
