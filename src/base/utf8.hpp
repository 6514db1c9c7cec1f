// UTF-8, as much of it as text output needs: which bytes make one character, and how wide it is in a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cistern::base {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // consumed; > 0 for non-empty text
  bool is_valid = false;  // false: `bytes` is the ill-formed part, to be shown as one U+FFFD
};

// The first character of `text`. Overlong forms, surrogates and codes above U+10FFFF are ill-formed; an ill-formed part
// ends where no well-formed character can go on (Unicode's "maximal subpart"). `text` must not be empty.
Utf8Character first_character(std::string_view text) noexcept;

// Columns that `text` takes in a terminal: 2 for East Asian wide characters and most emoji, 0 for combining marks and
// control characters, 1 for others and for each ill-formed part.
std::size_t display_width(std::string_view text) noexcept;

}  // namespace cistern::base
