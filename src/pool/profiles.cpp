#include "pool/profiles.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace cistern::pool {

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> kProfiles = {
      {"SMALL_MODEL",
       "one small model on a card: first fit, and nothing moves while there is room",
       {{"CISTERN_POLICY", "FIRST_FIT"}, {"CISTERN_ON_MISS", "GROW_FIRST"}, {"CISTERN_COMPACT", "OFF"}}},
      {"LARGE_MODELS",
       "large models, on several cards: compacted in quiet moments above a fragmentation rate of 20 %",
       {{"CISTERN_COMPACT", "ON"}, {"CISTERN_COMPACT_THRESHOLD", "0.2"}}},
      {"THROUGHPUT",
       "a service of many requests: looks for compaction every ten inferences, taken as 100 ms each; set "
       "CISTERN_COMPACT_INTERVAL_MS to a multiple of yours",
       {{"CISTERN_COMPACT", "ON"},
        {"CISTERN_COMPACT_INTERVAL_MS", "1000"},
        {"CISTERN_ON_MISS", "GROW_FIRST"},
        {"CISTERN_MAGAZINE_BYTES", "4MiB"}}},
      {"SEVERAL_MODELS",
       "several models, or memory that is just enough: best fit, compacted in the miss before the pool grows",
       {{"CISTERN_POLICY", "BEST_FIT"}, {"CISTERN_ON_MISS", "STITCH_FIRST"}}},
  };
  return kProfiles;
}

const Profile* find_profile(std::string_view name) {
  const std::string wanted = base::to_upper(name);
  const auto& all = profiles();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Profile& each) { return each.name == wanted; });
  return found == all.end() ? nullptr : &*found;
}

base::OptionSet with_profile(const base::OptionSet& set) {
  base::OptionSet all = set;
  const Profile* profile = set.is_set("CISTERN_PROFILE") ? find_profile(set.text("CISTERN_PROFILE")) : nullptr;
  if (profile == nullptr) return all;
  for (const auto& [name, value] : profile->settings) {
    if (set.is_set(name)) continue;
    // A threshold or interval that is set turns compaction on; a profile's OFF is only a default.
    const bool is_implied = name == "CISTERN_COMPACT" &&
                            (set.is_set("CISTERN_COMPACT_THRESHOLD") || set.is_set("CISTERN_COMPACT_INTERVAL_MS"));
    if (is_implied) continue;
    (void)all.set(name, value, "profile " + std::string(profile->name));  // values are tested to be valid
  }
  return all;
}

}  // namespace cistern::pool
