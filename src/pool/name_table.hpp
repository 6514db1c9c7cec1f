// NameTable: the unique names of live allocations, both ways.
//
// A block carries its name as a number, like a tag, but a name ends with its block and its number is used again, so a
// server that names every tensor does not grow.
// Thread-safety: the pool's lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"

namespace cistern::pool {

class NameTable {
 public:
  bool contains(std::string_view name) const { return ids_.find(std::string(name)) != ids_.end(); }

  // Takes `name`, which is not in the table, before its block exists: find() knows it only once bind() was called.
  std::uint32_t claim(std::string_view name) {
    std::uint32_t id = 0;
    if (spare_.empty()) {
      entries_.emplace_back();
      id = static_cast<std::uint32_t>(entries_.size());
    } else {
      id = spare_.back();
      spare_.pop_back();
    }
    entries_[id - 1] = {std::string(name), 0};
    ids_.emplace(std::string(name), id);
    return id;
  }

  void bind(std::uint32_t id, device::Address address) { entries_[id - 1].address = address; }

  void remove(std::uint32_t id) {
    ids_.erase(entries_[id - 1].name);
    entries_[id - 1] = {};
    spare_.push_back(id);
  }

  // 0 when no block has that name: no device gives out address 0.
  device::Address find(std::string_view name) const {
    const auto known = ids_.find(std::string(name));
    return known == ids_.end() ? 0 : entries_[known->second - 1].address;
  }

  std::string_view text(std::uint32_t id) const noexcept {
    return id == 0 ? std::string_view() : std::string_view(entries_[id - 1].name);
  }

  std::size_t size() const noexcept { return ids_.size(); }

 private:
  struct Entry {
    std::string name;
    device::Address address = 0;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> spare_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace cistern::pool
