// LeftBehind: what a program had not given back when its device ended, for the log: by name and by call site.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::acl {

struct LeftItem {
  std::string what;              // "stream 2", "block of context 1": equal ones of one call site become one line
  std::uint64_t bytes = 0;       // 0: not memory
  const void* caller = nullptr;  // return address into who made it; null: nobody in particular
};

// "main+0x1f", "load_model(char const*)": names from the symbol tables of what is loaded; slow.
std::string call_site(const void* caller);

// Several lines, one for each kind of thing and call site, in the order of `items`; "" when there are none.
std::string describe_left_behind(std::string_view function, const std::vector<LeftItem>& items);

}  // namespace cistern::acl
