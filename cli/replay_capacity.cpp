#include "cli/replay_capacity.hpp"

#include <charconv>
#include <string>

#include "base/text.hpp"
#include "base/units.hpp"

namespace cistern::cli {

base::Status parse_capacity(std::string_view text, std::uint64_t* bytes, double* over_peak) {
  if (base::to_upper(text) == "NONE") return {};
  if (!text.empty() && (text.back() == 'x' || text.back() == 'X')) {
    const std::string_view number = text.substr(0, text.size() - 1);
    double value = 0;
    const auto [end, wrong] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool is_number = wrong == std::errc() && end == number.data() + number.size();
    if (!is_number || !(value >= 1 && value <= 1000)) {
      return base::invalid_argument("--capacity is " + base::in_quotes(text) +
                                    "; a multiple of a trace's peak is between 1x and 1000x, as 1.10x");
    }
    *over_peak = value;
    return {};
  }
  auto parsed = base::parse_bytes(text);
  if (!parsed.is_ok()) return parsed.status().with_context("--capacity");
  if (parsed.value() == 0) return base::invalid_argument("--capacity 0 holds nothing; without a limit it is none");
  *bytes = parsed.value();
  return {};
}

}  // namespace cistern::cli
