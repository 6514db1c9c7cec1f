// Text for people: quoting what a user wrote, and guessing what they meant. ASCII rules only, no locale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cistern::base {

// Without spaces and tabs at either end.
std::string_view trim(std::string_view text) noexcept;

// a-z become A-Z, every other byte stays.
std::string to_upper(std::string_view text);

// 'text' in single quotes, fit for one line of a terminal: bytes that are no printable ASCII appear as \xNN, and what
// is longer than 80 bytes is cut and ends in "...".
std::string in_quotes(std::string_view text);

// The candidate nearest to `text` by insertions, deletions, replacements and swaps of neighbours, case ignored; the
// first one among equals. Empty when none is near enough to be a slip of the fingers (more than a third of its length).
std::string_view closest(std::string_view text, const std::vector<std::string_view>& candidates);

}  // namespace cistern::base
