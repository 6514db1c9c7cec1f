// Labels: numbers for the names a file gives its streams and devices, in the order of their first appearance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "base/text.hpp"

namespace cistern::replay {

class Labels {
 public:
  // A file with names without end is damaged, and must not fill the memory.
  base::Result<std::uint64_t> number_of(std::string_view label) {
    constexpr std::size_t kMostLabels = 65536;
    constexpr std::size_t kLongest = 128;
    if (label.size() > kLongest) {
      return base::Status(base::StatusCode::corrupted, base::in_quotes(label) + " is no stream or device");
    }
    const auto found = numbers_.find(std::string(label));
    if (found != numbers_.end()) return found->second;
    if (numbers_.size() == kMostLabels) {
      return base::Status(base::StatusCode::corrupted, "the file names more than 65536 streams or devices");
    }
    const std::uint64_t number = numbers_.size();
    numbers_.emplace(label, number);
    return number;
  }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

}  // namespace cistern::replay
