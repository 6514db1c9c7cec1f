#include "trace/call_site.hpp"

#include <cxxabi.h>

#include <cstdlib>

#include "trace/escape.hpp"

namespace cistern::trace {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_own_symbol(std::string_view name) {
  for (const std::string_view start : {"_ZN7cistern", "_ZNK7cistern", "_ZZN7cistern", "_ZZNK7cistern", "cistern_"}) {
    if (name.substr(0, start.size()) == start) return true;
  }
  return false;
}

bool is_own_library(std::string_view path) {
  const std::string_view name = file_name(path);
  return name.substr(0, 13) == "libcistern.so" || name.substr(0, 14) == "libascendcl.so";
}

const std::string kNoSite = "-";

}  // namespace

const CallSites::Frame& CallSites::frame(std::uint64_t return_address, const Tables& tables) {
  const auto [place, is_new] = frames_.try_emplace(return_address);
  Frame& frame = place->second;
  if (!is_new) return frame;
  const Module* module = tables.module_of(return_address);
  if (module == nullptr) {
    frame.name = hexadecimal(return_address);
    return frame;
  }
  std::unique_ptr<ElfSymbols>& symbols = files_[module->path];
  if (!symbols) symbols = std::make_unique<ElfSymbols>(module->path);
  // The return address may be the first of the next function: the call itself is before it.
  const ElfSymbols::Found found = symbols->find(return_address - module->bias - 1);
  frame.is_own = is_own_library(module->path) || is_own_symbol(found.name);
  frame.name = found.name.empty() ? escaped(file_name(module->path)) + "+" + hexadecimal(return_address - module->bias)
                                  : escaped(found.name) + "+" + hexadecimal(found.offset + 1);
  return frame;
}

const std::string& CallSites::name(std::uint64_t return_address, const Tables& tables) {
  return frame(return_address, tables).name;
}

const std::string& CallSites::site(std::uint32_t stack, const Tables& tables) {
  if (stack == 0 || stack > tables.stacks.size() || tables.stacks[stack - 1].empty()) return kNoSite;
  const auto [place, is_new] = sites_.try_emplace(stack);
  if (!is_new) return place->second;
  const std::vector<std::uint64_t>& addresses = tables.stacks[stack - 1];
  const Frame* chosen = nullptr;
  for (const std::uint64_t address : addresses) {
    const Frame& each = frame(address, tables);
    if (each.is_own) continue;
    chosen = &each;
    break;
  }
  if (chosen == nullptr) chosen = &frame(addresses.front(), tables);
  place->second = chosen->name;
  return place->second;
}

std::string readable_site(const std::string& site) {
  const std::size_t plus = site.rfind("+0x");
  const std::string symbol = site.substr(0, plus);
  if (symbol.substr(0, 2) != "_Z") return site;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (status != 0 || text == nullptr) return site;
  return std::string(text.get()) + (plus == std::string::npos ? "" : site.substr(plus));
}

}  // namespace cistern::trace
