#include "pool/pressure.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.hpp"
#include "pool/lending.hpp"
#include "pool/pool_core.hpp"
#include "pool/unlocked.hpp"

namespace cistern::pool {
namespace {

using Entry = PressureCallbacks::Entry;

std::atomic<std::uint64_t> last_id{0};
thread_local bool is_in_callback = false;

// The callback is not begun any more; those in it, but this thread, are waited for.
void retire(Entry& entry) {
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock lock(entry.mutex);
  entry.is_removed = true;
  const auto others_inside = [&] {
    return std::any_of(entry.inside.begin(), entry.inside.end(), [&](std::thread::id each) { return each != self; });
  };
  while (others_inside()) {
    lock.unlock();
    std::this_thread::yield();  // a callback takes what a cache takes to drop; this is rare
    lock.lock();
  }
}

// False: it was removed, threw, or has nothing to give.
bool call(Entry& entry, const Pressure& pressure) {
  {
    std::lock_guard lock(entry.mutex);
    if (entry.is_removed) return false;
    entry.inside.push_back(std::this_thread::get_id());
  }
  bool has_given = false;
  std::string thrown;
  is_in_callback = true;
  try {
    has_given = entry.call(pressure);
  } catch (const std::exception& exception) {
    thrown = exception.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  is_in_callback = false;
  if (!thrown.empty()) {
    base::log(base::LogLevel::warning, "pool",
              "a pressure callback, called for pool '" + pressure.pool + "', threw: " + thrown);
  }
  std::lock_guard lock(entry.mutex);
  entry.inside.erase(std::find(entry.inside.begin(), entry.inside.end(), std::this_thread::get_id()));
  return has_given;
}

// Whom this miss may ask and has not asked, in the order of asking. No lock held.
std::vector<std::shared_ptr<Entry>> candidates(PoolCore& pool, bool by_own_limit, const MissProgress& progress) {
  std::vector<std::shared_ptr<Entry>> all;
  pool.pressure.append_to(&all);
  if (pool.contexts && !by_own_limit) {
    pool.contexts->visit_others(pool.context, [&](PoolCore& other) {
      if (other.contexts->borrowed(other.context) == 0) return false;  // those that have borrowed come first
      other.pressure.append_to(&all);
      return true;
    });
  }
  std::erase_if(all, [&](const auto& each) {
    return std::find(progress.asked.begin(), progress.asked.end(), each->id) != progress.asked.end();
  });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a->priority != b->priority ? a->priority < b->priority : a->id < b->id;
  });
  return all;
}

// Asks one after another until one has given. No lock and no turn held.
bool ask(PoolCore& pool, const Pressure& pressure, MissProgress* progress) {
  for (const auto& entry : candidates(pool, pressure.by_own_limit, *progress)) {
    progress->asked.push_back(entry->id);
    if (call(*entry, pressure)) return true;
  }
  return false;
}

}  // namespace

std::uint64_t PressureCallbacks::add(std::int32_t priority, PressureCallback callback) {
  auto entry = std::make_shared<Entry>();
  entry->priority = priority;
  entry->id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  entry->call = std::move(callback);
  std::lock_guard lock(mutex_);
  entries_.push_back(entry);
  return entry->id;
}

base::Status PressureCallbacks::remove(std::uint64_t id) {
  std::shared_ptr<Entry> removed;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& each) { return each->id == id; });
    if (found == entries_.end()) {
      return base::not_found("no pressure callback of this pool has the number " + std::to_string(id));
    }
    removed = *found;
    entries_.erase(found);
  }
  retire(*removed);
  return {};
}

void PressureCallbacks::remove_all() {
  std::vector<std::shared_ptr<Entry>> all;
  {
    std::lock_guard lock(mutex_);
    all.swap(entries_);
  }
  for (const auto& each : all) retire(*each);
}

void PressureCallbacks::append_to(std::vector<std::shared_ptr<Entry>>* all) const {
  std::lock_guard lock(mutex_);
  all->insert(all->end(), entries_.begin(), entries_.end());
}

RescueResult PressureStep::run(PoolCore& pool, const Need& need, PoolLock& lock) {
  RescueResult result;
  if (is_in_callback || need.progress == nullptr) {
    result.is_idle = true;
    return result;
  }
  const Shortage lack = shortage_of(pool, need);
  Pressure pressure;
  pressure.pool = pool.options.name;
  pressure.device_kind = pool.device->info().kind;
  pressure.device_ordinal = pool.device->info().ordinal;
  pressure.by_own_limit = lack.by_own_limit;
  pressure.requested_bytes = need.bytes;
  pressure.missing_bytes = lack.bytes;
  const bool given = run_unlocked(pool, lock, [&] { return ask(pool, pressure, need.progress); });
  result.is_idle = need.progress->asked.empty();
  result.changed = result.again = given;
  return result;
}

}  // namespace cistern::pool
