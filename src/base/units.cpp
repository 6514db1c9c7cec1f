// Byte counts and times as people write and read them. Reading is exact integer arithmetic (a limit must not lose a
// byte to a floating point number); writing rounds to three significant digits. The locale plays no part in either.
#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.hpp"

namespace cistern::base {

namespace {

constexpr std::string_view kUnitLetters = "KMGTPE";

Status bad_bytes(std::string_view text, std::string_view why) {
  return invalid_argument(in_quotes(text) + " is not a number of bytes: " + std::string(why) +
                          "; write for example 8589934592, 8GiB, 512M or 1.5g (units are powers of 1024)");
}

std::string_view take_digits(std::string_view* rest) noexcept {
  std::size_t count = 0;
  while (count < rest->size() && (*rest)[count] >= '0' && (*rest)[count] <= '9') ++count;
  const std::string_view digits = rest->substr(0, count);
  rest->remove_prefix(count);
  return digits;
}

// "", "B", "k", "KiB", ... -> 1, 1, 1024, 1024, ...; nothing for what is no unit.
std::optional<std::uint64_t> unit_bytes(std::string_view unit) {
  const std::string upper = to_upper(unit);
  if (upper.empty() || upper == "B") return 1;
  const std::size_t power = kUnitLetters.find(upper[0]);
  if (power == std::string_view::npos) return std::nullopt;
  if (upper.size() > 1 && upper.substr(1) != "IB") return std::nullopt;
  return std::uint64_t{1} << (10 * (power + 1));
}

// floor(0.digits * unit), digit by digit from the right: a floor of a floor is the floor of the whole.
std::uint64_t fraction_of(std::string_view digits, std::uint64_t unit) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const auto digit = static_cast<std::uint64_t>(digits[i] - '0');
    value = digit * (unit / 10) + (digit * (unit % 10) + value) / 10;
  }
  return value;
}

// Three significant digits where that needs decimals, whole numbers above; no trailing zeros.
std::string three_digits(double value) {
  const bool is_huge = value >= 1e15;  // more digits than anyone reads
  int decimals = is_huge ? 2 : 0;
  if (value < 99.95) decimals = 1;
  if (value < 9.995) decimals = 2;
  if (value < 0.9995) decimals = 3;
  std::array<char, 64> buffer{};
  const auto format = is_huge ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, decimals);
  std::string text(buffer.data(), end.ptr);
  if (decimals > 0 && !is_huge) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.empty()) return bad_bytes(text, "it is empty");
  if (rest[0] == '-') return bad_bytes(text, "it is negative");
  const std::string_view whole_digits = take_digits(&rest);
  if (whole_digits.empty()) return bad_bytes(text, "it does not begin with a digit");
  std::string_view fraction_digits;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    fraction_digits = take_digits(&rest);
    if (fraction_digits.empty()) return bad_bytes(text, "digits must follow the point");
  }
  const std::string_view unit_text = trim(rest);
  const std::optional<std::uint64_t> unit = unit_bytes(unit_text);
  if (!unit) return bad_bytes(text, in_quotes(unit_text) + " is no unit (K, M, G, T, P, E or KiB, MiB, ...)");
  if (*unit == 1 && !fraction_digits.empty()) return bad_bytes(text, "a byte has no fractions");

  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t whole = 0;
  const auto read = std::from_chars(whole_digits.data(), whole_digits.data() + whole_digits.size(), whole);
  if (read.ec != std::errc() || whole > kMax / *unit) return bad_bytes(text, "it is more than 64 bits can hold");
  // whole * unit is a multiple of the unit and the fraction is less than one, so the sum cannot pass the top.
  return whole * *unit + fraction_of(fraction_digits, *unit);
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < kKiB) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  std::size_t power = 0;
  // 1023.5 and more would print as 1024 of the smaller unit.
  while (power < kUnitLetters.size() && (power == 0 || value >= 1023.5)) {
    value /= 1024.0;
    ++power;
  }
  return three_digits(value) + " " + kUnitLetters[power - 1] + "iB";
}

std::string format_bytes_exactly(std::uint64_t bytes) {
  std::size_t power = 0;
  while (bytes != 0 && bytes % kKiB == 0) {
    bytes /= kKiB;
    ++power;
  }
  std::string text = std::to_string(bytes);
  if (power > 0) text += std::string(1, kUnitLetters[power - 1]) + "iB";
  return text;
}

std::string format_nanoseconds(double nanoseconds) {
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  if (!std::isfinite(nanoseconds)) return "? ns";
  if (nanoseconds < 0) return "-" + format_nanoseconds(-nanoseconds);
  std::size_t unit = 0;
  // 999.5 and more would print as 1000 of the smaller unit.
  while (unit + 1 < kUnits.size() && nanoseconds >= 999.5) {
    nanoseconds /= 1000.0;
    ++unit;
  }
  return three_digits(nanoseconds) + " " + std::string(kUnits[unit]);
}

}  // namespace cistern::base
