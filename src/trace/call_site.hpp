// CallSites: names for return addresses, and which frame of a stack is the one to name.
//
// The call site is the first frame that is not Cistern's own: neither in one of its libraries nor, where it is linked
// into the program or comes from its headers, in its namespace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "trace/elf_symbols.hpp"
#include "trace/trace.hpp"

namespace cistern::trace {

class CallSites {
 public:
  // "mangled_symbol+0x1f", "module+0x4a10" or "0x7f0000001000"; no spaces.
  const std::string& name(std::uint64_t return_address, const Tables& tables);
  // Of a stack by number; "-" where none was recorded.
  const std::string& site(std::uint32_t stack, const Tables& tables);

 private:
  struct Frame {
    std::string name;
    bool is_own = false;
  };
  const Frame& frame(std::uint64_t return_address, const Tables& tables);

  std::map<std::string, std::unique_ptr<ElfSymbols>> files_;
  std::unordered_map<std::uint64_t, Frame> frames_;
  std::unordered_map<std::uint32_t, std::string> sites_;
};

// The same for people: C++ names as they are written, without the offset. What is no C++ name stays.
std::string readable_site(const std::string& site);

}  // namespace cistern::trace
