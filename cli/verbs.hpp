// The verbs there are, in the order in which help lists them.
#pragma once

#include <memory>
#include <vector>

#include "cli/verb.hpp"

namespace cistern::cli {

std::unique_ptr<Verb> make_atc_verb();
std::unique_ptr<Verb> make_leaks_verb();
std::unique_ptr<Verb> make_options_verb();
std::unique_ptr<Verb> make_plan_verb();
std::unique_ptr<Verb> make_replay_verb();
std::unique_ptr<Verb> make_run_verb();
std::unique_ptr<Verb> make_scenario_verb();
std::unique_ptr<Verb> make_tune_verb();

std::vector<std::unique_ptr<Verb>> all_verbs();

}  // namespace cistern::cli
