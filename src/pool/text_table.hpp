// TextTable: texts given small stable numbers, so that a block can carry a tag in 4 bytes.
//
// Ids start at 1; 0 is the empty text. Texts are never removed.
// Thread-safety: the pool's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cistern::pool {

class TextTable {
 public:
  std::uint32_t intern(std::string_view text) {
    if (text.empty()) return 0;
    const auto known = ids_.find(text);
    if (known != ids_.end()) return known->second;
    texts_.emplace_back(text);
    const auto id = static_cast<std::uint32_t>(texts_.size());
    ids_.emplace(std::string_view(texts_.back()), id);
    return id;
  }

  std::string_view text(std::uint32_t id) const noexcept {
    return id == 0 || id > texts_.size() ? std::string_view() : std::string_view(texts_[id - 1]);
  }

 private:
  std::deque<std::string> texts_;  // never moves: the map's keys point into it
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

}  // namespace cistern::pool
