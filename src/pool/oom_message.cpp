#include "pool/oom_message.hpp"

#include <algorithm>
#include <cstdio>

#include "base/units.hpp"

namespace cistern::pool {
namespace {

constexpr std::size_t kHoldersShown = 5;

using base::format_bytes;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
  return text;
}

// Exact bytes beside the rounded figure: advice is for copying.
std::string exact(std::uint64_t bytes) { return std::to_string(bytes) + " (" + format_bytes(bytes) + ")"; }

std::string first_line(const OutOfMemoryFacts& facts) {
  std::string line = (facts.is_shared() ? "context '" : "pool '") + facts.pool + "' cannot serve " +
                     exact(facts.requested_bytes) + " bytes";
  if (facts.alignment > 512) line += " aligned to " + format_bytes(facts.alignment);
  if (!facts.tag.empty()) line += " for " + facts.tag;
  if (facts.limited) return line + ": its limit of " + format_bytes(facts.ledger.limit_bytes) + " is reached";
  return line + ": device " + facts.device + " gives no more";
}

std::string pool_line(const OutOfMemoryFacts& facts) {
  const Ledger& ledger = facts.ledger;
  return "pool: reserved " + format_bytes(ledger.reserved_bytes) + " of limit " + format_bytes(ledger.limit_bytes) +
         "; allocated " + format_bytes(ledger.allocated_bytes) + " in " + std::to_string(ledger.live_blocks) +
         " blocks, cached " + format_bytes(ledger.cached_bytes) + ", awaiting free " +
         format_bytes(ledger.awaiting_free_bytes) + ", free " + format_bytes(ledger.free_bytes) + " in " +
         std::to_string(ledger.free_blocks) + " holes, largest hole " + format_bytes(ledger.largest_free_bytes) +
         " (fragmentation rate " + percent(ledger.fragmentation_rate()) + ", exposure " + percent(facts.exposure) + ")";
}

std::string device_line(const OutOfMemoryFacts& facts) {
  if (!facts.device_known) return "device: " + facts.device + " does not tell its free memory";
  const std::uint64_t used = facts.device_total_bytes - facts.device_free_bytes;
  const std::uint64_t ours = facts.ledger.reserved_bytes + facts.pages_kept_bytes;
  std::string line = "device: " + facts.device + " has " + format_bytes(facts.device_free_bytes) + " free of " +
                     format_bytes(facts.device_total_bytes) +
                     "; held by others: " + format_bytes(used > ours ? used - ours : 0);
  if (facts.pages_kept_bytes > 0) line += "; pages kept unmapped: " + format_bytes(facts.pages_kept_bytes);
  return line;
}

// Empty where the device is shared with nobody.
std::string context_line(const OutOfMemoryFacts& facts) {
  if (!facts.is_shared()) return {};
  const ContextView& own = facts.context;
  std::string line = "\n  context: holds " + format_bytes(own.reserved_bytes) + " of at most " +
                     format_bytes(own.maximum_bytes) + ", " + format_bytes(own.minimum_bytes) + " are promised, " +
                     format_bytes(own.borrowed_bytes) + " borrowed; the device can lend " +
                     format_bytes(facts.share.lendable_bytes) + " of " + format_bytes(facts.share.capacity_bytes) +
                     "; others: ";
  std::vector<ContextView> others;
  bool skipped = false;
  for (const ContextView& each : facts.contexts) {
    const bool is_own = !skipped && each.name == own.name;
    skipped = skipped || is_own;
    if (!is_own) others.push_back(each);
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.reserved_bytes > b.reserved_bytes; });
  const std::size_t shown = std::min(kHoldersShown, others.size());
  for (std::size_t i = 0; i < shown; ++i) {
    line += (i > 0 ? ", '" : "'") + others[i].name + "' " + format_bytes(others[i].reserved_bytes) + " (promised " +
            format_bytes(others[i].minimum_bytes) + ")";
  }
  if (others.size() > shown) line += ", and " + std::to_string(others.size() - shown) + " more";
  return line + (others.empty() ? "none" : "");
}

std::string tried_line(const OutOfMemoryFacts& facts) {
  std::string line = "tried: ";
  for (std::size_t i = 0; i < facts.tried.size(); ++i) {
    line += (i > 0 ? "; " : "") + facts.tried[i].first + " (" + facts.tried[i].second + ")";
  }
  return facts.tried.empty() ? "tried: nothing, the request alone exceeds the limit" : line;
}

std::string holders_line(const OutOfMemoryFacts& facts) {
  std::string line = "holders: ";
  const std::size_t shown = std::min(kHoldersShown, facts.holders.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const TagSnapshot& holder = facts.holders[i];
    line += (i > 0 ? ", " : "") + (holder.tag.empty() ? std::string("(no tag)") : holder.tag) + " " +
            format_bytes(holder.allocated_bytes) + " in " + std::to_string(holder.blocks) +
            (holder.blocks == 1 ? " block" : " blocks");
  }
  if (facts.holders.size() > shown) line += ", and " + std::to_string(facts.holders.size() - shown) + " more tags";
  return facts.holders.empty() ? "holders: none, the pool is empty" : line;
}

std::string advice_line(const OutOfMemoryFacts& facts) {
  const Ledger& ledger = facts.ledger;
  const std::uint64_t to_hold = ledger.reserved_bytes + facts.needed_bytes;
  const bool free_suffices = ledger.free_bytes >= facts.needed_bytes;
  std::string advice;
  if (facts.limited && (!facts.device_known || facts.device_free_bytes >= facts.needed_bytes)) {
    advice = "raise CISTERN_LIMIT_BYTES to at least " + std::to_string(std::max(to_hold, facts.needed_bytes));
  } else if (facts.limited) {
    advice = "the device itself has too little free for a higher limit: free some of the holders above";
  } else if (facts.device_known && facts.device_total_bytes < facts.needed_bytes) {
    advice = "the device is smaller than the request; use a smaller batch or another device";
  } else if (facts.is_shared() && facts.device_known &&
             facts.device_free_bytes + facts.pages_kept_bytes >= facts.needed_bytes) {
    advice =
        "what the device has left is promised to other contexts: lower their minima, raise this one's "
        "(CISTERN_MINIMUM_BYTES), or free some of the holders above";
  } else {
    advice = "free some of the holders above, or what others hold on the device";
  }
  if (free_suffices && !facts.expandable) {
    advice += "; free memory would suffice but lies in pieces: CISTERN_GROWTH=EXPANDABLE joins pieces by mapping pages";
  } else if (free_suffices) {
    advice += "; free memory would suffice but lies in pieces: trim the pool, or stitch (CISTERN_ON_MISS)";
  }
  return "advice: " + advice;
}

}  // namespace

std::string explain_out_of_memory(const OutOfMemoryFacts& facts) {
  return first_line(facts) + "\n  " + pool_line(facts) + "\n  " + device_line(facts) + context_line(facts) + "\n  " +
         tried_line(facts) + "\n  " + holders_line(facts) + "\n  " + advice_line(facts);
}

}  // namespace cistern::pool
