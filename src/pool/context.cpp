#include "pool/context.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "base/units.hpp"
#include "pool/pool_core.hpp"

namespace cistern::pool {
namespace {

struct Member {
  PoolCore* pool = nullptr;
  std::string name;
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
  std::uint64_t held = 0;
  std::uint64_t page_bytes = 0;
  std::uint32_t visitors = 0;
  bool is_closing = false;  // takes no visitors any more

  std::uint64_t spoken_for() const noexcept { return std::max(held, minimum); }
  std::uint64_t borrowed() const noexcept { return held > minimum ? held - minimum : 0; }
};

ContextView view_of(const Member& member) {
  ContextView view;
  view.name = member.name;
  view.reserved_bytes = member.held;
  view.minimum_bytes = member.minimum;
  view.maximum_bytes = member.maximum;
  view.borrowed_bytes = member.borrowed();
  return view;
}

}  // namespace

struct ContextSet::Impl {
  explicit Impl(std::uint64_t bytes) noexcept : capacity(bytes) {}

  // A leaf lock: nothing else is locked, and nobody called, while it is held.
  mutable std::mutex mutex;
  std::condition_variable no_visitors;
  std::map<ContextId, Member> members;  // ascending: in the order of their making
  ContextId last_id = 0;
  std::uint64_t capacity;
  std::uint64_t lent = 0;
  std::uint64_t spoken_for = 0;  // the sum over all members; never above the capacity
  std::uint64_t promised = 0;    // likewise, of the minima
  std::shared_ptr<device::Device> device;

  Member& member(ContextId id) { return members.at(id); }
  const Member& member(ContextId id) const { return members.at(id); }
  void set_held(Member& member, std::uint64_t held) noexcept {
    spoken_for -= member.spoken_for();
    member.held = held;
    spoken_for += member.spoken_for();
  }
  std::uint64_t room_for(const Member& member) const noexcept {
    return member.spoken_for() - member.held + (capacity - spoken_for);
  }
  // A member that may be visited now, pinned; null: it is gone or going. Mutex held.
  Member* pin(ContextId id) {
    const auto found = members.find(id);
    if (found == members.end() || found->second.is_closing) return nullptr;
    ++found->second.visitors;
    return &found->second;
  }
  void unpin(ContextId id) {
    std::lock_guard lock(mutex);
    if (--member(id).visitors == 0) no_visitors.notify_all();
  }
};

std::shared_ptr<ContextSet> ContextSet::of(const std::shared_ptr<device::Device>& device) {
  static auto* const kMutex = new std::mutex;  // for users at process end, too
  static auto* const kSets = new std::map<const device::Device*, std::weak_ptr<ContextSet>>;
  std::lock_guard lock(*kMutex);
  std::weak_ptr<ContextSet>& known = (*kSets)[device.get()];
  if (auto set = known.lock()) return set;
  auto set = std::make_shared<ContextSet>(device->info().total_bytes);
  set->impl_->device = device;
  known = set;
  std::erase_if(*kSets, [](const auto& each) { return each.second.expired(); });
  return set;
}

ContextSet::ContextSet(std::uint64_t capacity_bytes) : impl_(std::make_unique<Impl>(capacity_bytes)) {}
ContextSet::~ContextSet() = default;

base::Result<ContextId> ContextSet::join(PoolCore& pool, std::uint64_t minimum, std::uint64_t maximum,
                                         std::uint64_t* missing) {
  std::lock_guard lock(impl_->mutex);
  const std::uint64_t unpromised = impl_->capacity - impl_->promised;
  if (minimum > unpromised) {
    return base::Status(base::StatusCode::limit_exceeded,
                        "a minimum of " + base::format_bytes(minimum) + " can't be promised: the device has " +
                            base::format_bytes(impl_->capacity) + ", of which " + base::format_bytes(impl_->promised) +
                            " are promised to other contexts; ask for at most " + std::to_string(unpromised));
  }
  const std::uint64_t lendable = impl_->capacity - impl_->spoken_for;
  if (minimum > lendable) {
    *missing = minimum - lendable;
    return base::Status(base::StatusCode::out_of_memory, "a minimum of " + base::format_bytes(minimum) +
                                                             " can't be promised now: other contexts have " +
                                                             "borrowed so much that " + base::format_bytes(*missing) +
                                                             " are missing; trim their pools, or lower their limits");
  }
  Member member;
  member.pool = &pool;
  member.name = pool.options.name;
  member.minimum = minimum;
  member.maximum = maximum;
  member.page_bytes = pool.options.page_bytes;
  const ContextId id = ++impl_->last_id;
  impl_->spoken_for += member.spoken_for();
  impl_->promised += minimum;
  impl_->members.emplace(id, std::move(member));
  pool.context = id;  // before the mutex is given up: from then on others visit this pool
  return id;
}

void ContextSet::close(ContextId id) noexcept {
  std::unique_lock lock(impl_->mutex);
  Member& member = impl_->member(id);
  member.is_closing = true;
  impl_->no_visitors.wait(lock, [&] { return member.visitors == 0; });
}

void ContextSet::leave(ContextId id) noexcept {
  std::lock_guard lock(impl_->mutex);
  const Member& member = impl_->member(id);
  impl_->spoken_for -= member.spoken_for();
  impl_->promised -= member.minimum;
  impl_->members.erase(id);
}

bool ContextSet::claim(ContextId id, std::uint64_t bytes) noexcept {
  std::lock_guard lock(impl_->mutex);
  Member& member = impl_->member(id);
  if (bytes > impl_->room_for(member) || member.held + bytes > member.maximum) return false;
  impl_->set_held(member, member.held + bytes);
  return true;
}

void ContextSet::release(ContextId id, std::uint64_t bytes) noexcept {
  std::lock_guard lock(impl_->mutex);
  Member& member = impl_->member(id);
  impl_->set_held(member, member.held - std::min(bytes, member.held));
}

std::uint64_t ContextSet::room(ContextId id) const noexcept {
  std::lock_guard lock(impl_->mutex);
  return impl_->room_for(impl_->member(id));
}

std::uint64_t ContextSet::held(ContextId id) const noexcept {
  std::lock_guard lock(impl_->mutex);
  return impl_->member(id).held;
}

std::uint64_t ContextSet::borrowed(ContextId id) const noexcept {
  std::lock_guard lock(impl_->mutex);
  return impl_->member(id).borrowed();
}

bool ContextSet::is_alone(ContextId id) const noexcept {
  std::lock_guard lock(impl_->mutex);
  return impl_->members.size() == 1 && impl_->members.count(id) == 1;
}

void ContextSet::add_capacity(std::uint64_t bytes) noexcept {
  std::lock_guard lock(impl_->mutex);
  impl_->capacity += bytes;
}

void ContextSet::note_lent(std::uint64_t bytes) noexcept {
  std::lock_guard lock(impl_->mutex);
  impl_->lent += bytes;
}

std::uint64_t ContextSet::lent_bytes() const noexcept {
  std::lock_guard lock(impl_->mutex);
  return impl_->lent;
}

DeviceShare ContextSet::share() const noexcept {
  std::lock_guard lock(impl_->mutex);
  DeviceShare share;
  share.contexts = impl_->members.size();
  share.capacity_bytes = impl_->capacity;
  share.promised_bytes = impl_->promised;
  share.lendable_bytes = impl_->capacity - impl_->spoken_for;
  for (const auto& [id, member] : impl_->members) {
    share.reserved_bytes += member.held;
    share.borrowed_bytes += member.borrowed();
  }
  return share;
}

ContextView ContextSet::view(ContextId id) const {
  std::lock_guard lock(impl_->mutex);
  return view_of(impl_->member(id));
}

std::vector<ContextView> ContextSet::views() {
  std::vector<ContextView> views;
  std::vector<std::pair<ContextId, PoolCore*>> pinned;
  {
    // One hold for all, so that the sums are of one moment.
    std::lock_guard lock(impl_->mutex);
    for (const auto& [id, member] : impl_->members) {
      views.push_back(view_of(member));
      pinned.emplace_back(id, member.is_closing ? nullptr : impl_->pin(id)->pool);
    }
  }
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    if (pinned[i].second == nullptr) continue;
    {
      PoolGuard lock(pinned[i].second->mutex);
      views[i].allocated_bytes = pinned[i].second->ledger().allocated_bytes;
    }
    impl_->unpin(pinned[i].first);
  }
  return views;
}

std::vector<ContextView> ContextSet::standings() const {
  std::vector<ContextView> views;
  std::lock_guard lock(impl_->mutex);
  for (const auto& [id, member] : impl_->members) views.push_back(view_of(member));
  return views;
}

std::uint64_t ContextSet::page_bytes() const noexcept {
  std::lock_guard lock(impl_->mutex);
  for (const auto& [id, member] : impl_->members) {
    if (member.minimum != 0 && member.page_bytes != 0) return member.page_bytes;
  }
  return 0;
}

void ContextSet::visit_others(ContextId id, const std::function<bool(PoolCore&)>& visit) {
  std::vector<std::pair<std::uint64_t, ContextId>> order;
  {
    std::lock_guard lock(impl_->mutex);
    for (const auto& [other, member] : impl_->members) {
      if (other != id) order.emplace_back(member.borrowed(), other);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [borrowed, other] : order) {
    PoolCore* pool = nullptr;
    {
      std::lock_guard lock(impl_->mutex);
      if (const Member* member = impl_->pin(other)) pool = member->pool;
    }
    if (pool == nullptr) continue;
    const bool go_on = visit(*pool);
    impl_->unpin(other);
    if (!go_on) return;
  }
}

}  // namespace cistern::pool
