// ElfSymbols: the functions of one file of code, by address, as its symbol table names them (mangled).
//
// Reads the full table where the file was not stripped, else the one of exported functions. A file that cannot be read,
// or is no ELF file of this machine's width, has no symbols.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::trace {

class ElfSymbols {
 public:
  explicit ElfSymbols(const std::string& path);

  struct Found {
    std::string_view name;  // empty: none
    std::uint64_t offset = 0;
  };
  // The function that contains `address`, an address inside the file.
  Found find(std::uint64_t address) const noexcept;

 private:
  struct Symbol {
    std::uint64_t begin;
    std::uint64_t bytes;
    std::uint32_t name;
  };
  std::vector<Symbol> symbols_;  // ascending
  std::string names_;            // ends in a zero byte where it is not empty
};

}  // namespace cistern::trace
