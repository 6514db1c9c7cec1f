#include "plan/offset_planner.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "plan/part_planner.hpp"
#include "plan/parts.hpp"

namespace cistern::plan {
namespace {

// Parts with the same tensors, planned once, for the one that lies highest.
struct Family {
  std::vector<std::size_t> parts;
  std::uint64_t base = 0;  // the highest
  std::unique_ptr<PartPlanner> planner;

  std::uint64_t top() const noexcept { return base + planner->top(); }
};

std::uint64_t hash_of(const std::vector<Item>& items) noexcept {
  std::uint64_t hash = items.size();
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  };
  for (const Item& item : items) {
    mix((std::uint64_t{item.lower} << 32) | item.upper);
    mix(item.bytes);
  }
  return hash;
}

std::vector<Family> families_of(const std::vector<Part>& parts) {
  std::vector<Family> families;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t hash = hash_of(parts[i].items);
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto equal = std::find_if(
        begin, end, [&](const auto& entry) { return parts[families[entry.second].parts[0]].items == parts[i].items; });
    std::size_t family = families.size();
    if (equal != end) {
      family = equal->second;
    } else {
      families.emplace_back();
      by_hash.emplace(hash, family);
    }
    families[family].parts.push_back(i);
    families[family].base = std::max(families[family].base, parts[i].base);
  }
  return families;
}

class Planning {
 public:
  Planning(const std::vector<Item>& items, const PlannerOptions& options)
      : options_(options), bound_(peak_bytes(items)), cut_(cut_into_parts(items)), families_(families_of(cut_.parts)) {}

  OffsetPlan run() {
    place_all();
    search_highest();
    return plan();
  }

 private:
  std::uint64_t steps_left() const noexcept { return options_.effort_steps - std::min(options_.effort_steps, steps_); }

  // How high the family may end, from its base: at `height`, but a part can't be smaller than its own peak.
  std::uint64_t wanted(const Family& family, std::uint64_t height) const noexcept {
    return std::max(cut_.parts[family.parts[0]].peak_bytes, height - family.base);
  }

  void place_all() {
    for (Family& family : families_) {
      family.planner = std::make_unique<PartPlanner>(cut_.parts[family.parts[0]]);
      family.planner->try_orders(wanted(family, bound_), steps_left() / 2);
      steps_ += family.planner->steps();
    }
  }

  // The highest part decides how large the plan is; it is searched until another one is the highest.
  void search_highest() {
    for (std::uint64_t seed = options_.seed; !families_.empty() && steps_left() > 0; ++seed) {
      Family* highest = &families_.front();
      std::uint64_t second = 0;
      for (Family& family : families_) {
        if (&family == highest) continue;
        second = std::max(second, std::min(family.top(), highest->top()));
        if (family.top() > highest->top()) highest = &family;
      }
      const std::uint64_t goal = std::max({bound_, cut_.top, second - std::min(second, options_.alignment)});
      const std::uint64_t before = highest->planner->top();
      if (before <= wanted(*highest, goal)) return;
      const std::uint64_t steps = highest->planner->steps();
      highest->planner->improve(wanted(*highest, goal), steps_left(), seed);
      steps_ += highest->planner->steps() - steps;
      if (highest->planner->top() == before) return;
    }
  }

  OffsetPlan plan() {
    OffsetPlan plan;
    plan.offsets = std::move(cut_.offsets);
    plan.bytes = cut_.top;
    plan.lower_bound_bytes = bound_;
    plan.alignment = options_.alignment;
    plan.method = "stacked";  // every tensor lies below a part or alone
    plan.parts = cut_.parts.size();
    plan.repeats = cut_.parts.size() - families_.size();
    plan.steps = steps_;
    for (const Family& family : families_) {
      if (family.top() > plan.bytes) {
        plan.bytes = family.top();
        plan.method = family.planner->method();
      }
      for (const std::size_t number : family.parts) {
        const Part& part = cut_.parts[number];
        for (std::size_t i = 0; i < part.members.size(); ++i) {
          plan.offsets[part.members[i]] = part.base + family.planner->offsets()[i];
        }
      }
    }
    return plan;
  }

  PlannerOptions options_;
  std::uint64_t bound_;
  Cut cut_;
  std::vector<Family> families_;
  std::uint64_t steps_ = 0;
};

std::uint64_t peak_as_it_is(const std::vector<Lifetime>& lifetimes) {
  auto exact = items_of(lifetimes, 1);
  return exact.is_ok() ? peak_bytes(exact.value()) : 0;
}

}  // namespace

base::Result<OffsetPlan> plan_offsets(const std::vector<Lifetime>& lifetimes, const PlannerOptions& options) noexcept {
  auto items = items_of(lifetimes, options.alignment);
  if (!items.is_ok()) return items.take_status();
  OffsetPlan plan = Planning(items.value(), options).run();
  plan.peak_live_bytes = peak_as_it_is(lifetimes);
  return plan;
}

}  // namespace cistern::plan
