#include "replay/sources/numbers.hpp"

#include <charconv>
#include <cmath>

namespace cistern::replay {
namespace {

std::optional<std::uint64_t> parse_in_base(std::string_view text, int base) noexcept {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

// The digits behind the point as a number in [0, 1).
std::optional<long double> parse_fraction(std::string_view digits) noexcept {
  constexpr std::size_t kMostDigits = 18;
  long double value = 0;
  long double place = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] < '0' || digits[i] > '9') return std::nullopt;
    if (i >= kMostDigits) continue;
    place /= 10;
    value += place * static_cast<long double>(digits[i] - '0');
  }
  return value;
}

}  // namespace

std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept { return parse_in_base(text, 10); }

std::optional<std::uint64_t> parse_pointer(std::string_view text) noexcept {
  if (text == "(nil)") return 0;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_in_base(text, 16);
}

std::optional<std::uint64_t> parse_scaled(std::string_view text, std::uint64_t scale) noexcept {
  const std::size_t point = text.find('.');
  const auto whole = parse_decimal(text.substr(0, point));
  if (!whole) return std::nullopt;
  std::uint64_t scaled = 0;
  if (__builtin_mul_overflow(*whole, scale, &scaled)) return std::nullopt;
  if (point == std::string_view::npos) return scaled;
  const auto fraction = parse_fraction(text.substr(point + 1));
  if (!fraction) return std::nullopt;
  const auto rest = static_cast<std::uint64_t>(std::llround(*fraction * static_cast<long double>(scale)));
  if (__builtin_add_overflow(scaled, rest, &scaled)) return std::nullopt;
  return scaled;
}

std::optional<std::uint64_t> parse_time_of_day(std::string_view text) noexcept {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hours = parse_decimal(text.substr(0, 2));
  const auto minutes = parse_decimal(text.substr(3, 2));
  const auto seconds = parse_decimal(text.substr(6, 2));
  if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 60) return std::nullopt;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t whole = ((*hours * 60 + *minutes) * 60 + *seconds) * kSecond;
  if (text.size() == 8) return whole;
  if (text[8] != '.' && text[8] != ':') return std::nullopt;
  const auto fraction = parse_fraction(text.substr(9));
  if (!fraction || text.size() == 9) return std::nullopt;
  return whole + static_cast<std::uint64_t>(std::llround(*fraction * static_cast<long double>(kSecond)));
}

}  // namespace cistern::replay
