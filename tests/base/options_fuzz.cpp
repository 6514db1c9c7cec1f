// Any bytes as an environment and as a byte count: nothing crashes, every refusal has a text, every value that is taken
// lies in the table's range and reads back as itself.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/units.hpp"

namespace {

using cistern::base::OptionSet;
using cistern::base::OptionSpec;
using cistern::base::OptionType;

void require(bool holds) {
  if (!holds) std::abort();
}

// Entries are separated by zero bytes or line ends.
void try_environment(const std::string& text) {
  std::vector<std::string> entries(1);
  for (const char byte : text) {
    if (byte == '\0' || byte == '\n') {
      entries.emplace_back();
    } else {
      entries.back() += byte;
    }
  }
  std::vector<const char*> environment;
  environment.reserve(entries.size() + 1);
  for (const std::string& entry : entries) environment.push_back(entry.c_str());
  environment.push_back(nullptr);

  const auto set = OptionSet::from_environment(environment.data());
  if (!set.is_ok()) {
    require(!set.status().text().empty());
    return;
  }
  for (const OptionSpec& spec : OptionSet::table()) {
    if (!set.value().is_set(spec.name)) continue;
    OptionSet again;
    require(again.set(spec.name, set.value().value_text(spec.name), "again").is_ok());
    require(again.value_text(spec.name) == set.value().value_text(spec.name));
    if (spec.type != OptionType::bytes) continue;
    const auto bytes = static_cast<double>(set.value().bytes(spec.name));
    require((bytes >= spec.min_value && bytes <= spec.max_value) || (bytes == 0 && spec.zero_is_allowed));
  }
}

void try_bytes(const std::string& text) {
  const auto bytes = cistern::base::parse_bytes(text);
  if (!bytes.is_ok()) {
    require(bytes.status().text().find("for example") != std::string_view::npos);
    return;
  }
  require(cistern::base::parse_bytes(std::to_string(bytes.value())).value() == bytes.value());
  require(!cistern::base::format_bytes(bytes.value()).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try_environment(text);
  try_bytes(text);
  return 0;
}
