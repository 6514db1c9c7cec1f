#include "trace/stack_table.hpp"

#include <algorithm>

#include "trace/call_stack.hpp"

namespace cistern::trace {
namespace {

bool is_equal(const std::vector<std::uint64_t>& known, const std::uint64_t* addresses, unsigned depth) noexcept {
  return known.size() == depth && std::equal(known.begin(), known.end(), addresses);
}

// Code may have been loaded since, and a stack through it is the first that says so.
void learn_modules(const std::vector<std::uint64_t>& stack, Tables* tables) {
  const auto is_known = [&](std::uint64_t address) { return tables->module_of(address) != nullptr; };
  if (std::all_of(stack.begin(), stack.end(), is_known)) return;
  for (Module& module : loaded_modules()) {
    if (tables->module_of(module.begin) == nullptr) tables->modules.push_back(std::move(module));
  }
  std::sort(tables->modules.begin(), tables->modules.end(),
            [](const Module& left, const Module& right) { return left.begin < right.begin; });
}

}  // namespace

std::uint32_t StackTable::number_of(const std::uint64_t* addresses, unsigned depth, Tables* tables) {
  if (depth == 0) return 0;
  std::uint64_t hash = depth;
  for (unsigned i = 0; i < depth; ++i) hash = (hash ^ addresses[i]) * 0x9E3779B97F4A7C15U;
  std::uint32_t& recent = recent_[hash >> (64 - kRecentBits)];
  if (recent == 0 || !is_equal(tables->stacks[recent - 1], addresses, depth)) {
    recent = look_up(hash, addresses, depth, tables);
  }
  return recent;
}

std::uint32_t StackTable::look_up(std::uint64_t hash, const std::uint64_t* addresses, unsigned depth, Tables* tables) {
  for (;; ++hash) {
    const auto [place, is_new] = numbers_.try_emplace(hash, 0);
    if (is_new) {
      tables->stacks.emplace_back(addresses, addresses + depth);
      place->second = static_cast<std::uint32_t>(tables->stacks.size());
      learn_modules(tables->stacks.back(), tables);
      return place->second;
    }
    if (is_equal(tables->stacks[place->second - 1], addresses, depth)) return place->second;
  }
}

}  // namespace cistern::trace
