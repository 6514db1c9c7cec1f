// Paragraphs in a terminal: words flow into lines of a fixed width.
#pragma once

#include <string>
#include <string_view>

namespace cistern::cli {

inline constexpr std::size_t kLineColumns = 100;

// `text` in lines of at most kLineColumns, each after `indent` spaces and ending in '\n'. A longer word has its own
// line.
std::string wrapped(std::string_view text, std::size_t indent);

// A name and what it means: "  left    text", the text in one column, beginning on the next line where `left` is long.
std::string hanging_lines(std::string_view left, std::string_view text);

}  // namespace cistern::cli
