// Files in the form of .om files, made for tests: two partitions of weights, one of tasks that asks for 5,000,000 bytes
// of work memory, one with an input and an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace cistern::test {

class OmWriter {
 public:
  template <typename T>
  OmWriter& put(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    data.insert(data.end(), bytes, bytes + sizeof value);
    return *this;
  }
  OmWriter& put(const std::string& text) {
    for (const char letter : text) data.push_back(static_cast<std::byte>(letter));
    return *this;
  }
  OmWriter& put(const OmWriter& other) {
    data.insert(data.end(), other.data.begin(), other.data.end());
    return *this;
  }
  std::vector<std::byte> data;
};

inline OmWriter tensor_list(std::uint32_t type, const std::string& name, std::uint64_t bytes) {
  OmWriter list;
  list.put(std::uint32_t{1}).put(bytes).put(std::int32_t{0}).put(std::int32_t{1});
  list.put(static_cast<std::uint32_t>(name.size())).put(std::uint32_t{16}).put(std::uint32_t{0}).put(std::uint32_t{0});
  list.put(name).put(std::int64_t{1}).put(std::int64_t{-1});
  OmWriter entry;
  entry.put(type).put(static_cast<std::uint32_t>(list.data.size())).put(list);
  return entry;
}

inline std::vector<std::byte> make_om_file(bool is_wide, bool is_dynamic = false) {
  OmWriter tasks;  // field 3: text; field 11: 5,000,000; field 14: 7
  tasks.put(std::uint8_t{0x1A}).put(std::uint8_t{2}).put(std::string("ab"));
  tasks.put(std::uint8_t{0x58}).put(std::uint8_t{0xC0}).put(std::uint8_t{0x96}).put(std::uint8_t{0xB1});
  tasks.put(std::uint8_t{0x02}).put(std::uint8_t{0x70}).put(std::uint8_t{7});
  OmWriter tensors;
  tensors.put(tensor_list(0, "data", 602112)).put(tensor_list(1, "prob", 4000)).put(std::uint32_t{9});
  tensors.put(std::uint32_t{3}).put(std::string("new"));  // of a kind that is not known
  const OmWriter weights = OmWriter().put(std::string(3000, 'w'));
  const std::pair<std::uint32_t, const OmWriter*> partitions[] = {
      {1, &weights}, {2, &tasks}, {8, &tensors}, {1, &weights}};
  OmWriter file;
  file.put(std::uint32_t{0x444F4D49}).put(std::uint32_t{256});
  file.data.resize(256);
  const std::uint32_t models = 1;
  std::memcpy(&file.data[156], &models, sizeof models);
  file.data[184] = static_cast<std::byte>(is_wide ? 1 : 0);
  file.data[193] = static_cast<std::byte>(is_dynamic ? 1 : 0);
  file.put(std::uint32_t{4});
  if (is_wide) file.put(std::uint32_t{0});
  std::uint64_t offset = 0;
  for (const auto& [type, content] : partitions) {
    file.put(type);
    if (is_wide) {
      file.put(std::uint32_t{0}).put(offset).put(static_cast<std::uint64_t>(content->data.size()));
    } else {
      file.put(static_cast<std::uint32_t>(offset)).put(static_cast<std::uint32_t>(content->data.size()));
    }
    offset += content->data.size();
  }
  for (const auto& [type, content] : partitions) file.put(*content);
  return file.data;
}

}  // namespace cistern::test
