// The list of verbs: an explicit one, so that what the tool can do is read in one place.
#include "cli/verbs.hpp"

namespace cistern::cli {

std::vector<std::unique_ptr<Verb>> all_verbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(make_run_verb());
  verbs.push_back(make_leaks_verb());
  verbs.push_back(make_replay_verb());
  verbs.push_back(make_tune_verb());
  verbs.push_back(make_plan_verb());
  verbs.push_back(make_options_verb());
  verbs.push_back(make_atc_verb());
  verbs.push_back(make_scenario_verb());
  return verbs;
}

}  // namespace cistern::cli
