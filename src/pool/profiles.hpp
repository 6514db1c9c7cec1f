// Profiles: settings by a rule of thumb, under one name, for those who have no trace to tune on yet.
//
// The rules are the published advice for this kind of pool: small models on one card, large models, services for
// throughput, several models in little memory. A profile only changes defaults: whatever is set by itself wins.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/options.hpp"

namespace cistern::pool {

struct Profile {
  std::string_view name;  // as CISTERN_PROFILE spells it
  std::string_view rule;
  std::vector<std::pair<std::string_view, std::string_view>> settings;  // options and their values
};

const std::vector<Profile>& profiles();
// Null: there is none of that name (any case).
const Profile* find_profile(std::string_view name);

// The options with what CISTERN_PROFILE, if set, gives to those that are not set. Their origin names the profile.
base::OptionSet with_profile(const base::OptionSet& set);

}  // namespace cistern::pool
