#include "trace/hazard_detector.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/units.hpp"
#include "device/text.hpp"
#include "trace/call_site.hpp"
#include "trace/call_stack.hpp"

namespace cistern::trace {

namespace {

bool overlap(const device::Touch& left, const device::Touch& right) noexcept {
  return left.at < right.at + right.bytes && right.at < left.at + left.bytes;
}

std::string_view explain(HazardKind kind) noexcept {
  switch (kind) {
    case HazardKind::reused_too_early:
      return "memory that was given to another owner before this was complete";
    case HazardKind::other_context:
      return "a block of another context";
    case HazardKind::past_the_end:
      return "past the end of its block";
    case HazardKind::not_live:
      return "memory that is nobody's";
  }
  return "";
}

}  // namespace

// Forwards one pool's events under its name.
class HazardDetector::PoolObserver final : public pool::Observer {
 public:
  PoolObserver(std::shared_ptr<HazardDetector> detector, std::string pool, std::uint64_t context)
      : Observer(detector->order_), detector_(std::move(detector)), pool_(std::move(pool)), context_(context) {}
  void on_event(const pool::Event& event) noexcept override { detector_->on_event(event, pool_, context_); }
  void on_tag(std::uint32_t, std::string_view) noexcept override {}

 private:
  const std::shared_ptr<HazardDetector> detector_;
  const std::string pool_;
  const std::uint64_t context_;
};

HazardDetector::~HazardDetector() = default;

HazardDetector::Watched HazardDetector::watch(std::string_view pool) {
  const std::uint64_t context = contexts_.fetch_add(1, std::memory_order_relaxed) + 1;
  return {std::make_shared<PoolObserver>(shared_from_this(), std::string(pool), context), context};
}

std::vector<Hazard> HazardDetector::hazards() const {
  const std::lock_guard lock(mutex_);
  return hazards_;
}

// --- Who owns what -----------------------------------------------------------------------------

void HazardDetector::on_event(const pool::Event& event, const std::string& pool, std::uint64_t context) noexcept {
  const std::lock_guard lock(mutex_);
  if (event.op == pool::EventOp::allocate) {
    allocated(event, pool, context);
  } else if (event.op == pool::EventOp::free) {
    freed(event, context);
  } else if (event.op == pool::EventOp::resize) {
    resized(event, pool, context);
  } else if (event.op == pool::EventOp::pool_end) {
    for (auto each = live_.begin(); each != live_.end();) {
      const auto next = std::next(each);
      if (each->second->context == context) retire(each);
      each = next;
    }
  }
}

void HazardDetector::retire(std::map<device::Address, Owner>::iterator place) {
  former_.push_back(place->second);
  if (former_.size() > kRemembered) former_.pop_front();
  live_.erase(place);
}

void HazardDetector::allocated(const pool::Event& event, const std::string& pool, std::uint64_t context) {
  auto owner = std::make_shared<BlockHistory>();
  owner->pool = pool;
  owner->context = context;
  owner->address = event.address;
  owner->bytes = event.granted_bytes;
  owner->allocated = {event.sequence, event.stream, event.caller};
  // Events of different threads may come in another order than they happened: who is still there has been freed, and
  // will be told to be.
  auto each = live_.upper_bound(event.address);
  if (each != live_.begin()) --each;
  while (each != live_.end() && each->first < event.address + event.granted_bytes) {
    const auto next = std::next(each);
    if (each->first + each->second->bytes > event.address) retire(each);
    each = next;
  }
  live_[event.address] = std::move(owner);
}

// The same block with the same history: work on what it had goes on.
void HazardDetector::resized(const pool::Event& event, const std::string& pool, std::uint64_t context) {
  const auto place = live_.find(event.address);
  if (place == live_.end()) return allocated(event, pool, context);
  place->second->bytes = event.granted_bytes;
}

void HazardDetector::freed(const pool::Event& event, std::uint64_t context) {
  const BlockCall call{event.sequence, event.stream, event.caller};
  const auto place = live_.find(event.address);
  if (place != live_.end() && place->second->allocated.sequence < event.sequence) {
    place->second->freed = call;
    retire(place);
    return;
  }
  const auto late = std::find_if(former_.rbegin(), former_.rend(), [&](const Owner& owner) {
    return owner->address == event.address && owner->context == context && owner->freed.sequence == 0 &&
           owner->allocated.sequence < event.sequence;
  });
  if (late != former_.rend()) (*late)->freed = call;
}

HazardDetector::Owner HazardDetector::owner_of(device::Address at) const {
  const auto above = live_.upper_bound(at);
  if (above == live_.begin()) return nullptr;
  const Owner& owner = std::prev(above)->second;
  return at < owner->address + owner->bytes ? owner : nullptr;
}

HazardDetector::Owner HazardDetector::last_owner_of(device::Address at) const {
  const auto last = std::find_if(former_.rbegin(), former_.rend(), [&](const Owner& owner) {
    return at >= owner->address && at < owner->address + owner->bytes;
  });
  return last == former_.rend() ? nullptr : *last;
}

// --- What work does ----------------------------------------------------------------------------

void HazardDetector::on_submit(device::WorkId id, device::StreamHandle stream, const device::Work& work) noexcept {
  const std::lock_guard lock(mutex_);
  Unfinished& unfinished = unfinished_[id];
  unfinished.stream = stream;
  unfinished.name = work.name;
  for (const device::Touch& touch : work.touches) {
    Owner owner = owner_of(touch.at);
    check(touch, owner, work.context, unfinished);
    if (owner != nullptr) unfinished.parts.push_back({touch, std::move(owner)});
  }
}

void HazardDetector::check(const device::Touch& touch, const Owner& owner, std::uint64_t context,
                           const Unfinished& work) {
  if (owner == nullptr) {
    report(HazardKind::not_live, work, touch, {last_owner_of(touch.at)});
    return;
  }
  if (touch.at + touch.bytes > owner->address + owner->bytes) {
    report(HazardKind::past_the_end, work, touch, {owner, owner_of(owner->address + owner->bytes)});
  }
  if (context != 0 && context != owner->context) report(HazardKind::other_context, work, touch, {owner});
}

void HazardDetector::on_begin(device::WorkId id) noexcept {
  const std::lock_guard lock(mutex_);
  const auto self = unfinished_.find(id);
  for (const Part& mine : self->second.parts) {
    for (const auto& [other_id, other] : unfinished_) {
      if (other_id == id || other.stream == self->second.stream) continue;
      for (const Part& theirs : other.parts) {
        const bool is_earlier = theirs.owner->allocated.sequence < mine.owner->allocated.sequence;
        if (!is_earlier || !overlap(mine.touch, theirs.touch) || (!mine.touch.writes && !theirs.touch.writes)) continue;
        report(HazardKind::reused_too_early, other, theirs.touch, {theirs.owner, mine.owner});
      }
    }
  }
}

void HazardDetector::on_end(device::WorkId id) noexcept {
  const std::lock_guard lock(mutex_);
  unfinished_.erase(id);
}

void HazardDetector::report(HazardKind kind, const Unfinished& work, const device::Touch& touch,
                            const std::vector<Owner>& owners) {
  if (hazards_.size() >= kMostHazards) return;
  Hazard hazard;
  hazard.kind = kind;
  hazard.work = work.name;
  hazard.stream = work.stream;
  hazard.touch = touch;
  for (const Owner& owner : owners) {
    if (owner != nullptr) hazard.blocks.push_back(*owner);
  }
  base::log(
      base::LogLevel::warning, "trace",
      "work '" + work.name + "' of stream " + std::to_string(work.stream) + " touches " + std::string(explain(kind)));
  hazards_.push_back(std::move(hazard));
}

// --- Text --------------------------------------------------------------------------------------

std::string Hazard::text() const {
  Tables tables;
  tables.modules = loaded_modules();
  CallSites sites;
  const auto tell = [&](std::string_view what, const BlockCall& call) {
    if (call.sequence == 0) return std::string();
    std::string line = "\n    " + std::string(what) + " as event " + std::to_string(call.sequence) + " on stream " +
                       std::to_string(call.stream);
    if (call.caller == nullptr) return line;
    return line + " at " + readable_site(sites.name(reinterpret_cast<std::uint64_t>(call.caller), tables));
  };
  std::string out = "work '" + work + "' of stream " + std::to_string(stream) +
                    (touch.writes ? " writes " : " reads ") + device::range_text(touch.at, touch.bytes) + ": " +
                    std::string(explain(kind));
  for (const BlockHistory& block : blocks) {
    out += "\n  " + base::format_bytes(block.bytes) + " at " + device::hex(block.address) + " of pool '" + block.pool +
           "'" + tell("allocated", block.allocated) + tell("freed", block.freed);
  }
  return out;
}

}  // namespace cistern::trace
