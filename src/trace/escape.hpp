// Words for the text log: any text as one field without white space, and numbers as hexadecimal digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cistern::trace {

// White space, control characters, '%', ';' and bytes that are no ASCII as %XX. Reads back by unescaped().
std::string escaped(std::string_view text);
// The same without the letters "alloc" in a row, for lines that people who grep for "alloc" must not find.
std::string escaped_without_alloc(std::string_view text);
std::string unescaped(std::string_view word);

std::string hexadecimal(std::uint64_t value);  // "0x1f"

}  // namespace cistern::trace
