// Text for people. The nearest name is found by the restricted Damerau-Levenshtein distance, because the slips that
// people make in option names are exactly its four operations; names are short, so a full table a candidate is cheap.
#include "base/text.hpp"

#include <algorithm>
#include <cstddef>

namespace cistern::base {

namespace {

constexpr std::size_t kQuotedBytes = 80;
constexpr std::size_t kLongestGuess = 128;  // nobody mistypes one of our names into something longer than this

// Three rows of the distance table are alive at a time: the current one and the two above it.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> two_above(right.size() + 1);
  std::vector<std::size_t> above(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
    two_above.swap(above);
    above.swap(row);
  }
  return above[right.size()];
}

}  // namespace

std::string_view trim(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string to_upper(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return upper;
}

std::string in_quotes(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char byte : text.substr(0, kQuotedBytes)) {
    const auto code = static_cast<unsigned char>(byte);
    if (code >= 0x20 && code < 0x7f) {
      out += byte;
    } else {
      out += {'\\', 'x', kHex[code >> 4], kHex[code & 15]};
    }
  }
  return out + (text.size() > kQuotedBytes ? "...'" : "'");
}

std::string_view closest(std::string_view text, const std::vector<std::string_view>& candidates) {
  if (text.size() > kLongestGuess) return {};
  const std::string wanted = to_upper(text);
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, to_upper(candidate));
    if (distance * 3 > candidate.size()) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace cistern::base
