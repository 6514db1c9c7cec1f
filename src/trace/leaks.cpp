#include "trace/leaks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/text.hpp"
#include "base/units.hpp"

namespace cistern::trace {
namespace {

using BlockKey = std::pair<std::uint32_t, std::uint64_t>;                // pool, address
using GroupKey = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // site, pool, tag

std::string pool_name(const Tables& tables, std::uint32_t pool) {
  const PoolName* name = tables.pool(pool);
  return name == nullptr ? "pool " + std::to_string(pool) : name->name;
}

std::vector<std::string> named_stack(std::uint32_t stack, const Tables& tables, CallSites* sites) {
  std::vector<std::string> names;
  if (stack == 0) return names;
  for (const std::uint64_t address : tables.stacks[stack - 1]) names.push_back(sites->name(address, tables));
  return names;
}

// Events by sequence, in one pass, up to number `last`: calls event(index, allocation index or kNone).
constexpr std::size_t kNone = ~std::size_t{0};

template <typename Visit>
std::map<BlockKey, std::size_t> walk(const Trace& trace, std::uint64_t last, const Visit& visit) {
  std::map<BlockKey, std::size_t> live;
  for (std::size_t i = 0; i < trace.events.size() && trace.events[i].sequence <= last; ++i) {
    const TraceEvent& event = trace.events[i];
    const BlockKey key{event.pool, event.address};
    std::size_t ended = kNone;
    // A buffer that has another size now counts as allocated anew, where it is.
    if (event.op == EventOp::allocate || event.op == EventOp::resize || event.op == EventOp::free) {
      const auto found = live.find(key);
      if (found != live.end()) {
        ended = found->second;
        live.erase(found);
      }
    }
    if (event.op == EventOp::allocate || event.op == EventOp::resize) live.emplace(key, i);
    if (event.op == EventOp::move) {
      auto block = live.extract(BlockKey{event.pool, event.requested_bytes});
      if (!block.empty()) {
        block.key() = key;
        live.insert(std::move(block));
      }
    }
    visit(i, ended);
  }
  return live;
}

// Which group each allocation belongs to.
class Groups {
 public:
  Groups(const Trace& trace, CallSites* sites) : trace_(&trace), sites_(sites) {}
  std::size_t of(const TraceEvent& event) {
    GroupKey key{sites_->site(event.stack, trace_->tables), event.pool, event.tag};
    return numbers_.try_emplace(std::move(key), numbers_.size()).first->second;
  }
  std::size_t size() const noexcept { return numbers_.size(); }
  const std::map<GroupKey, std::size_t>& all() const noexcept { return numbers_; }

 private:
  const Trace* trace_;
  CallSites* sites_;
  std::map<GroupKey, std::size_t> numbers_;
};

constexpr std::size_t kParts = 16;
constexpr std::size_t kWarmUp = kParts / 4;

bool climbs(const std::vector<std::uint64_t>& floors) {
  std::size_t rises = 0;
  for (std::size_t part = kWarmUp; part < kParts; ++part) {
    if (floors[part] < floors[part - 1]) return false;
    rises += floors[part] > floors[part - 1] ? 1 : 0;
  }
  return rises >= (kParts - kWarmUp) / 2;
}

// Live bytes of each group as they change, and their least in each part of the trace.
class Floors {
 public:
  void change(std::size_t group, std::uint64_t bytes, bool adds, std::size_t part) {
    if (group >= groups_.size()) groups_.resize(group + 1);
    One& one = groups_[group];
    settle(&one, part);
    one.live += adds ? bytes : -bytes;
    one.floors[part] = std::min(one.floors[part], one.live);
  }
  std::vector<std::uint64_t> of(std::size_t group) {
    settle(&groups_[group], kParts - 1);
    return groups_[group].floors;
  }

 private:
  struct One {
    std::uint64_t live = 0;
    std::size_t next = 0;  // parts before it are settled
    std::vector<std::uint64_t> floors = std::vector<std::uint64_t>(kParts, 0);
  };
  // A part begins with what is live then.
  static void settle(One* one, std::size_t part) {
    for (; one->next <= part; ++one->next) one->floors[one->next] = one->live;
  }
  std::vector<One> groups_;
};

}  // namespace

base::Result<Window> window_between(const Trace& trace, std::string_view from, std::string_view to) {
  Window window;
  std::string_view wanted = from;
  std::set<std::string> others;
  for (const TraceEvent& event : trace.events) {
    if (event.op != EventOp::mark) continue;
    const std::string text = trace.tables.tag_text(event.pool, event.tag);
    others.insert(text);
    if (text != wanted) continue;
    if (window.first != 0) {
      window.last = event.sequence;
      return window;
    }
    window.first = event.sequence;
    wanted = to;
  }
  std::string known;
  for (const std::string& text : others) known += (known.empty() ? "" : ", ") + base::in_quotes(text);
  return base::not_found("there is no mark " + base::in_quotes(wanted) +
                         (window.first != 0 ? " after " + base::in_quotes(from) : "") +
                         " in the trace; its marks: " + (known.empty() ? "none" : known));
}

LeakReport find_leaks(const Trace& trace, CallSites* sites, const Window& window) {
  LeakReport report;
  std::set<std::uint32_t> ended_pools;
  const auto live = walk(trace, window.last, [&](std::size_t i, std::size_t ended) {
    const TraceEvent& event = trace.events[i];
    if (event.op == EventOp::free && ended == kNone) ++report.unmatched_frees;
    if (event.op == EventOp::pool_end) ended_pools.insert(event.pool);
  });
  std::vector<std::size_t> oldest_first;
  for (const auto& [key, index] : live) {
    if (trace.events[index].sequence >= window.first) oldest_first.push_back(index);
  }
  std::sort(oldest_first.begin(), oldest_first.end());
  Groups groups(trace, sites);
  for (const std::size_t index : oldest_first) {
    const TraceEvent& event = trace.events[index];
    const std::size_t number = groups.of(event);
    if (number == report.groups.size()) {
      LeakGroup group;
      group.site = sites->site(event.stack, trace.tables);
      group.tag = trace.tables.tag_text(event.pool, event.tag);
      group.pool = pool_name(trace.tables, event.pool);
      group.oldest_ns = event.time - std::min(event.time, trace.events.front().time);
      group.call_stack = named_stack(event.stack, trace.tables, sites);
      report.groups.push_back(std::move(group));
    }
    LeakGroup& group = report.groups[number];
    ++group.blocks;
    group.bytes += event.requested_bytes;
    group.newest_ns = event.time - std::min(event.time, trace.events.front().time);
    group.of_ended_pools += ended_pools.count(event.pool);
    ++report.blocks;
    report.bytes += event.requested_bytes;
  }
  return report;
}

std::vector<GrowthGroup> find_growth(const Trace& trace, CallSites* sites) {
  Groups groups(trace, sites);
  Floors floors;
  std::vector<std::size_t> group_of(trace.events.size(), 0);
  walk(trace, ~std::uint64_t{0}, [&](std::size_t i, std::size_t ended) {
    const std::size_t part = i * kParts / trace.events.size();
    if (ended != kNone) floors.change(group_of[ended], trace.events[ended].requested_bytes, false, part);
    if (trace.events[i].op != EventOp::allocate && trace.events[i].op != EventOp::resize) return;
    group_of[i] = groups.of(trace.events[i]);
    floors.change(group_of[i], trace.events[i].requested_bytes, true, part);
  });
  std::vector<GrowthGroup> found;
  if (trace.events.size() < kParts) return found;
  const std::uint64_t from = trace.events[trace.events.size() * kWarmUp / kParts].time;
  const std::uint64_t to = trace.events.back().time;
  for (const auto& [key, number] : groups.all()) {
    const std::vector<std::uint64_t> bytes = floors.of(number);
    if (!climbs(bytes)) continue;
    GrowthGroup group;
    group.site = std::get<0>(key);
    group.pool = pool_name(trace.tables, std::get<1>(key));
    group.tag = trace.tables.tag_text(std::get<1>(key), std::get<2>(key));
    group.floors = bytes;
    const auto gained = static_cast<double>(bytes.back() - bytes[kWarmUp - 1]);
    group.bytes_per_second = to > from ? gained * 1e9 / static_cast<double>(to - from) : 0.0;
    found.push_back(std::move(group));
  }
  std::stable_sort(found.begin(), found.end(), [](const GrowthGroup& left, const GrowthGroup& right) {
    return left.bytes_per_second > right.bytes_per_second;
  });
  return found;
}

std::string leak_summary(const LeakReport& report, std::size_t most_groups) {
  std::vector<const LeakGroup*> largest;
  for (const LeakGroup& group : report.groups) largest.push_back(&group);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const LeakGroup* left, const LeakGroup* right) { return left->bytes > right->bytes; });
  std::string text = std::to_string(report.blocks) + " blocks, " + base::format_bytes(report.bytes) +
                     ", were never freed, from " + std::to_string(report.groups.size()) + " places";
  for (std::size_t i = 0; i < largest.size() && i < most_groups; ++i) {
    const LeakGroup& group = *largest[i];
    text += "\n  " + base::format_bytes(group.bytes) + " in " + std::to_string(group.blocks) + " blocks of pool '" +
            group.pool + "'" + (group.tag.empty() ? "" : ", tag " + group.tag) + ": " + readable_site(group.site);
  }
  if (largest.size() > most_groups) text += "\n  and " + std::to_string(largest.size() - most_groups) + " places more";
  return text;
}

}  // namespace cistern::trace
