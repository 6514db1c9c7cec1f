// Paragraphs: words are put on the line while they fit, counted in terminal columns.
#include "cli/ui/wrap.hpp"

#include "base/utf8.hpp"

namespace cistern::cli {

namespace {

constexpr std::size_t kTextColumn = 30;

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string out;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word.empty()) continue;
    const std::size_t columns = base::display_width(line) + 1 + base::display_width(word);
    if (!line.empty() && indent + columns > kLineColumns) {
      out += margin + line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) out += margin + line + "\n";
  return out;
}

std::string hanging_lines(std::string_view left, std::string_view text) {
  std::string first = "  " + std::string(left);
  std::string rest = wrapped(text, kTextColumn);
  const std::size_t used = base::display_width(first);
  if (rest.empty() || used + 2 > kTextColumn) return first + "\n" + rest;
  return first + rest.substr(used);  // the margin of the first line makes room for the name
}

}  // namespace cistern::cli
