#include "pool/pool.hpp"

#include <atomic>
#include <string>

#include "base/bits.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "pool/elastic.hpp"
#include "pool/growth.hpp"
#include "pool/inspect.hpp"
#include "pool/lending.hpp"
#include "pool/magazines.hpp"
#include "pool/movable_blocks.hpp"
#include "pool/observed.hpp"
#include "pool/pool_core.hpp"
#include "pool/serve.hpp"
#include "pool/stream_steps.hpp"
#include "pool/trim.hpp"

namespace cistern::pool {
namespace {

// Addresses reserved for an expandable arena, over the limit: holes cost addresses, not memory. Measured on traces: the
// need reaches 3.2x, and 2x fails on growing KV caches.
constexpr std::uint64_t kAddressesPerLimit = 8;
// What a suballocator can number, less the guard below an arena's base.
constexpr std::uint64_t kMaxRangeBytes = 2 * base::kTiB - 2 * kMaxAlignment;

std::atomic<device::AccountId> next_account{1};

base::Status check_bytes_option(std::string_view name, std::uint64_t value, bool fits, std::string_view range) {
  if (fits) return {};
  return base::invalid_argument(std::string(name) + " = " + std::to_string(value) + " is not " + std::string(range));
}

base::Status check_sizes(const PoolOptions& options, const device::DeviceInfo& device) {
  base::Status status =
      check_bytes_option("round_bytes", options.round_bytes,
                         base::is_power_of_two(options.round_bytes) && options.round_bytes >= core::kGranuleBytes &&
                             options.round_bytes <= kMaxAlignment,
                         "a power of two between 512 and 1 GiB");
  if (status.is_ok() && options.growth == Growth::expandable) {
    status =
        check_bytes_option("page_bytes", options.page_bytes,
                           base::is_power_of_two(options.page_bytes) && options.page_bytes >= device.min_page_bytes &&
                               options.page_bytes <= device.max_page_bytes,
                           "a power of two between " + std::to_string(device.min_page_bytes) + " and " +
                               std::to_string(device.max_page_bytes) + " (device " + device.kind + ")");
  }
  if (status.is_ok()) {
    status = check_bytes_option("step_us", options.step_us, options.step_us > 0, "at least 1");
  }
  if (status.is_ok()) {
    status = check_bytes_option("compact_interval_ms", options.compact_interval_ms, options.compact_interval_ms > 0,
                                "at least 1");
  }
  if (status.is_ok()) {
    status = check_bytes_option("red_zone_bytes", options.red_zone_bytes, options.red_zone_bytes <= base::kMiB,
                                "at most 1 MiB");
  }
  if (status.is_ok()) {
    status = check_bytes_option("initial_bytes", options.initial_bytes, options.initial_bytes <= options.limit_bytes,
                                "at most the limit of " + std::to_string(options.limit_bytes));
  }
  if (status.is_ok()) {
    status = check_bytes_option("minimum_bytes", options.minimum_bytes, options.minimum_bytes <= options.limit_bytes,
                                "at most the limit of " + std::to_string(options.limit_bytes));
  }
  if (status.is_ok()) {
    status = check_bytes_option(
        "limit_bytes", options.limit_bytes,
        options.limit_bytes >= options.page_bytes && options.limit_bytes <= kMaxRangeBytes,
        "between one page (" + std::to_string(options.page_bytes) + ") and " + std::to_string(kMaxRangeBytes));
  }
  return status;
}

// Defaults filled in by what the device can do.
base::Result<PoolOptions> complete(PoolOptions options, const device::DeviceInfo& device,
                                   const device::PagePool* pages) {
  if (options.limit_bytes == 0) options.limit_bytes = std::min(device.total_bytes, kMaxRangeBytes);
  if (options.growth == Growth::expandable && (!device.capabilities.pages || pages == nullptr)) {
    if (options.growth_is_required) {
      return base::unsupported("growth 'expandable' needs a device that maps pages; device '" + device.kind +
                               "' does not. Use growth 'arenas'");
    }
    base::log(base::LogLevel::info, "pool",
              "pool '" + options.name + "' uses driver arenas: device '" + device.kind + "' maps no pages");
    options.growth = Growth::arenas;
  }
  if (options.growth == Growth::arenas) {
    options.page_bytes = 0;
  } else if (options.page_bytes == 0) {
    options.page_bytes = pages->page_bytes();
  } else if (options.page_bytes != pages->page_bytes()) {
    return base::invalid_argument("page_bytes = " + std::to_string(options.page_bytes) +
                                  " differs from the page pool's " + std::to_string(pages->page_bytes()));
  }
  if (options.page_bytes != 0) options.minimum_bytes = base::round_up(options.minimum_bytes, options.page_bytes);
  base::Status wrong = check_sizes(options, device);
  if (!wrong.is_ok()) return wrong.with_context("pool '" + options.name + "'");
  return options;
}

// The pool becomes one of the device's contexts. What it is promised may be borrowed by others, who are asked for it.
base::Status join_contexts(PoolCore& pool, std::shared_ptr<ContextSet> contexts) {
  std::uint64_t missing = 0;
  const PoolOptions& options = pool.options;
  ContextSet& set = *contexts;
  pool.contexts = std::move(contexts);  // others visit the pool from the moment it has joined
  auto joined = set.join(pool, options.minimum_bytes, options.limit_bytes, &missing);
  if (!joined.is_ok() && missing != 0 && collect_from_others(set, 0, pool.pages.get(), missing) != 0) {
    joined = set.join(pool, options.minimum_bytes, options.limit_bytes, &missing);
  }
  if (joined.is_ok()) return {};
  pool.contexts.reset();
  return joined.take_status().with_context("context '" + options.name + "'");
}

RequestRules rules_of(const PoolCore& pool) {
  const PoolOptions& options = pool.options;
  RequestRules rules;
  rules.least_alignment = std::max(pool.device->info().alignment_bytes, core::kGranuleBytes);
  rules.round_bytes = options.round_bytes;
  rules.page_bytes = options.page_bytes;
  if (options.direct_bytes != 0) rules.direct_from_bytes = options.direct_bytes;
  rules.red_zone_bytes = options.red_zone_bytes;
  rules.has_magazines = options.magazine_bytes != 0 && pool.page_arena != nullptr;
  return rules;
}

// What no memory of this pool is may be another context's: then the failure says whose. No lock held.
base::Status name_owner(const PoolCore& pool, device::Address address, base::Status failure) {
  if (failure.code() != base::StatusCode::not_found || !pool.contexts) return failure;
  std::string owner;
  pool.contexts->visit_others(pool.context, [&](PoolCore& other) {
    PoolGuard lock(other.mutex);
    if (other.arena_of(address) == nullptr) return true;
    owner = other.options.name;
    return false;
  });
  if (owner.empty()) return failure;
  return base::Status(base::StatusCode::wrong_context, std::to_string(address) + " is memory of context '" + owner +
                                                           "', not of '" + pool.options.name + "'; free it there");
}

// Every arena goes back to the device.
void give_all_back(PoolCore& core) {
  const std::uint64_t kept_before = core.pages ? core.pages->counts().kept : 0;
  std::vector<device::PageHandle> pages;
  for (const auto& arena : core.arenas) {
    const base::Status status = arena->give_back(&pages);
    if (!status.is_ok()) {
      base::log(base::LogLevel::error, "pool",
                "pool '" + core.options.name + "' could not return an arena of " +
                    base::format_bytes(arena->mapped_bytes()) + ": " + status.to_string());
    }
  }
  if (!core.pages) return;
  if (!pages.empty()) core.pages->give(core.account, pages);
  const base::Status trimmed = core.pages->trim(kept_before);
  if (!trimmed.is_ok()) base::log(base::LogLevel::warning, "pool", trimmed.to_string());
}

}  // namespace

class Pool::Impl : public PoolCore {};

Pool::Pool(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

base::Result<std::unique_ptr<Pool>> Pool::create(std::shared_ptr<device::Device> device,
                                                 std::shared_ptr<device::PagePool> pages, const PoolOptions& options,
                                                 std::vector<std::unique_ptr<RescueStep>> extra_steps,
                                                 std::shared_ptr<Observer> observer,
                                                 std::shared_ptr<ContextSet> contexts) noexcept {
  if (!device) return base::invalid_argument("a pool needs a device");
  auto completed = complete(options, device->info(), pages.get());
  if (!completed.is_ok()) return completed.take_status();
  auto impl = std::make_unique<Impl>();
  impl->options = completed.take();
  impl->device = std::move(device);
  impl->account = next_account.fetch_add(1, std::memory_order_relaxed);
  impl->observer = std::move(observer);
  if (impl->options.red_zone_bytes != 0) impl->red_zones = std::make_unique<RedZones>(*impl->device);
  impl->is_watched = impl->observer || impl->red_zones;
  static const base::SteadyClock steady_clock;
  impl->clock = options.clock != nullptr ? options.clock : &steady_clock;
  impl->rescue_steps = std::move(extra_steps);
  impl->rescue_steps.push_back(std::make_unique<FlushMagazinesStep>());
  impl->rescue_steps.push_back(std::make_unique<GrowStep>());
  impl->rescue_steps.push_back(std::make_unique<ReleaseArenasStep>());
  impl->rescue_steps.push_back(std::make_unique<OtherPoolsStep>());
  impl->rescue_steps.push_back(std::make_unique<PressureStep>());
  for (auto& step : stream_steps()) impl->rescue_steps.push_back(std::move(step));
  std::stable_sort(impl->rescue_steps.begin(), impl->rescue_steps.end(),
                   [](const auto& left, const auto& right) { return left->order() < right->order(); });
  if (impl->options.growth == Growth::expandable) {
    impl->pages = std::move(pages);
    const std::uint64_t limit = impl->options.limit_bytes;
    const std::uint64_t range =
        limit > kMaxRangeBytes / kAddressesPerLimit ? kMaxRangeBytes : limit * kAddressesPerLimit;
    auto arena = Arena::create_expandable(*impl->device, impl->options.policy, impl->options.page_bytes, range, limit);
    if (!arena.is_ok()) return arena.take_status();
    impl->page_arena = arena.value().get();
    impl->add_arena(arena.take());
  }
  impl->rules = rules_of(*impl);
  open_for_magazines(*impl);
  if (contexts) {
    base::Status refused = join_contexts(*impl, std::move(contexts));
    if (!refused.is_ok()) {
      close_for_magazines(*impl);
      give_all_back(*impl);
      return refused;
    }
  }
  std::unique_ptr<Pool> pool(new Pool(std::move(impl)));
  if (options.initial_bytes > 0) {
    base::Status filled = fill_at_start(*pool->impl_, options.initial_bytes);
    if (!filled.is_ok()) return filled.with_context("pool '" + options.name + "' got none of its initial memory");
  }
  return pool;
}

Pool::~Pool() {
  PoolCore& core = *impl_;
  core.pressure.remove_all();
  if (core.contexts) core.contexts->close(core.context);
  close_for_magazines(core);
  end_streams(core);
  observe_range(core, EventOp::pool_end, 0, 0);
  const std::vector<TagSnapshot> leaks = holders_by_tag(core);
  for (const TagSnapshot& leak : leaks) {
    base::log(base::LogLevel::warning, "pool",
              "pool '" + core.options.name + "' is destroyed with " + std::to_string(leak.blocks) + " live blocks of " +
                  (leak.tag.empty() ? "no tag" : "tag " + leak.tag) + ", " + base::format_bytes(leak.requested_bytes));
  }
  give_all_back(core);
  if (core.contexts) core.contexts->leave(core.context);
}

base::Result<device::Address> Pool::allocate(const AllocationRequest& request) noexcept {
  if (impl_->is_watched) [[unlikely]] {
    return allocate_watched(*impl_, request, __builtin_return_address(0));
  }
  return serve(*impl_, request);
}

base::Result<device::Address> Pool::allocate(std::uint64_t bytes) noexcept {
  AllocationRequest request;
  request.bytes = bytes;
  if (impl_->is_watched) [[unlikely]] {
    return allocate_watched(*impl_, request, __builtin_return_address(0));
  }
  return serve(*impl_, request);
}

base::Status Pool::free(device::Address address) noexcept {
  if (impl_->is_watched) [[unlikely]] {
    return name_owner(*impl_, address, free_watched(*impl_, address, std::nullopt, __builtin_return_address(0)));
  }
  base::Status freed = give_up(*impl_, address);
  if (!freed.is_ok()) [[unlikely]]
    freed = name_owner(*impl_, address, std::move(freed));
  return freed;
}

base::Status Pool::free_async(device::Address address, device::StreamHandle stream) noexcept {
  if (impl_->is_watched) [[unlikely]] {
    return name_owner(*impl_, address, free_watched(*impl_, address, stream, __builtin_return_address(0)));
  }
  base::Status freed = give_up_on(*impl_, address, stream);
  if (!freed.is_ok()) [[unlikely]]
    freed = name_owner(*impl_, address, std::move(freed));
  return freed;
}

base::Status Pool::record_use(device::Address address, device::StreamHandle stream) noexcept {
  base::Status recorded = pool::record_use(*impl_, address, stream);
  if (!recorded.is_ok()) [[unlikely]]
    recorded = name_owner(*impl_, address, std::move(recorded));
  return recorded;
}

base::Status Pool::forget_stream(device::StreamHandle stream) noexcept { return pool::forget_stream(*impl_, stream); }

base::Result<MovableId> Pool::allocate_movable(const AllocationRequest& request) noexcept {
  if ((request.flags & kFlagPinned) != 0) {
    return base::invalid_argument(
        "a movable block can't be asked for as pinned; pin its handle while it must not move");
  }
  if (request.stream) {
    return base::unsupported("movable blocks are not served in the order of streams; ask for one without a stream");
  }
  auto served =
      impl_->observer ? allocate_observed(*impl_, request, __builtin_return_address(0)) : serve(*impl_, request);
  if (!served.is_ok()) return served.take_status();
  return make_movable(*impl_, request, served.value());
}

base::Status Pool::free_movable(MovableId id) noexcept {
  return pool::free_movable(*impl_, id, __builtin_return_address(0));
}

base::Result<device::Address> Pool::pin(MovableId id) noexcept { return pin_movable(*impl_, id); }
base::Status Pool::unpin(MovableId id) noexcept { return unpin_movable(*impl_, id); }
base::Result<MovableView> Pool::describe_movable(MovableId id) const noexcept { return view_movable(*impl_, id); }

base::Result<ElasticView> Pool::reserve_elastic(std::uint64_t max_bytes, TagId tag) noexcept {
  return pool::reserve_elastic(*impl_, max_bytes, tag);
}

base::Status Pool::grow_elastic(ElasticId id, std::uint64_t bytes) noexcept {
  return pool::grow_elastic(*impl_, id, bytes, __builtin_return_address(0));
}

base::Status Pool::shrink_elastic(ElasticId id, std::uint64_t bytes) noexcept {
  return pool::shrink_elastic(*impl_, id, bytes, __builtin_return_address(0));
}

base::Status Pool::release_elastic(ElasticId id) noexcept {
  return pool::release_elastic(*impl_, id, __builtin_return_address(0));
}

base::Result<ElasticView> Pool::describe_elastic(ElasticId id) const noexcept {
  PoolGuard lock(impl_->mutex);
  return view_elastic(*impl_, id);
}

base::Result<AllocationView> Pool::find(std::string_view name) const noexcept {
  PoolGuard lock(impl_->mutex);
  const device::Address address = impl_->names.find(name);
  if (address == 0) return base::not_found("no live allocation is named '" + std::string(name) + "'");
  const Arena* arena = impl_->arena_of(address);
  return impl_->view_of(*arena, arena->blocks().find_live(arena->offset_of(address)));
}

base::Status Pool::free_named(std::string_view name) noexcept {
  auto found = find(name);
  if (!found.is_ok()) return found.take_status();
  return free(found.value().address);
}

base::Result<AllocationView> Pool::describe(device::Address address) const noexcept {
  PoolGuard lock(impl_->mutex);
  const MagazinesHeld held(*impl_);
  const Arena* arena = impl_->arena_of(address);
  if (arena != nullptr) {
    const core::BlockIndex block = arena->blocks().find_containing(arena->offset_of(address));
    const bool is_live = arena->blocks().view(block).state == core::BlockState::live;
    if (is_live && cached_in(arena->blocks().record(block)) == 0) return impl_->view_of(*arena, block);
  }
  return base::not_found("no live allocation of pool '" + impl_->options.name + "' contains address " +
                         std::to_string(address));
}

TagId Pool::intern_tag(std::string_view tag) noexcept {
  PoolGuard lock(impl_->mutex);
  const TagId id = impl_->tags.intern(tag);
  if (impl_->observer && id != 0) impl_->observer->on_tag(id, tag);
  return id;
}

base::Status Pool::register_range(device::Address address, std::uint64_t bytes) noexcept {
  PoolGuard lock(impl_->mutex);
  Arena* arena = impl_->arena_of(address);
  if (arena != nullptr && arena->register_range({arena->offset_of(address), bytes})) return {};
  return base::invalid_argument("the range at " + std::to_string(address) + " of " + std::to_string(bytes) +
                                " bytes is not within one arena of pool '" + impl_->options.name + "'");
}

base::Status Pool::unregister_range(device::Address address, std::uint64_t bytes) noexcept {
  PoolGuard lock(impl_->mutex);
  Arena* arena = impl_->arena_of(address);
  if (arena != nullptr && arena->unregister_range({arena->offset_of(address), bytes})) return {};
  return base::not_found("no registered range of " + std::to_string(bytes) + " bytes begins at " +
                         std::to_string(address));
}

base::Result<CompactionReport> Pool::compact(const CompactionRequest& request) noexcept {
  return pool::compact(*impl_, request);
}

base::Result<std::uint64_t> Pool::backing_generation(device::Address address, std::uint64_t bytes) const noexcept {
  PoolGuard lock(impl_->mutex);
  const Arena* arena = impl_->arena_of(address);
  if (arena == nullptr || bytes > arena->base() + arena->range_bytes() - address) {
    return base::not_found("the range at " + std::to_string(address) + " of " + std::to_string(bytes) +
                           " bytes is not within one arena of pool '" + impl_->options.name + "'");
  }
  return arena->backing_generation({arena->offset_of(address), bytes});
}

void Pool::set_backing_listener(std::shared_ptr<BackingListener> listener) noexcept {
  PoolGuard lock(impl_->mutex);
  impl_->listener.swap(listener);
}

base::Result<std::uint64_t> Pool::trim(std::uint64_t keep_bytes) noexcept { return pool::trim(*impl_, keep_bytes); }

std::uint64_t Pool::add_pressure_callback(std::int32_t priority, PressureCallback callback) noexcept {
  return impl_->pressure.add(priority, std::move(callback));
}

base::Status Pool::remove_pressure_callback(std::uint64_t id) noexcept { return impl_->pressure.remove(id); }

ContextView Pool::context() const noexcept {
  ContextView view;
  if (impl_->contexts) view = impl_->contexts->view(impl_->context);
  PoolGuard lock(impl_->mutex);
  const Ledger ledger = impl_->ledger();
  view.allocated_bytes = ledger.allocated_bytes;
  if (impl_->contexts) return view;
  view.name = impl_->options.name;
  view.reserved_bytes = ledger.reserved_bytes;
  view.maximum_bytes = ledger.limit_bytes;
  view.borrowed_bytes = ledger.reserved_bytes;
  return view;
}

const std::shared_ptr<ContextSet>& Pool::contexts() const noexcept { return impl_->contexts; }

bool Pool::has_address(device::Address address) const noexcept {
  PoolGuard lock(impl_->mutex);
  return impl_->arena_of(address) != nullptr;
}

Ledger Pool::ledger() const noexcept {
  PoolGuard lock(impl_->mutex);
  return impl_->ledger();
}

void Pool::reset_peaks() noexcept {
  PoolGuard lock(impl_->mutex);
  const MagazinesHeld held(*impl_);
  for (const auto& magazine : impl_->magazines) take_over_counts(*impl_, *magazine);
  impl_->counts.peak_reserved_bytes = impl_->reserved;
  impl_->counts.peak_allocated_bytes = impl_->allocated;
  impl_->counts.peak_requested_bytes = impl_->requested;
}

Snapshot Pool::snapshot() const {
  Snapshot snapshot;
  {
    PoolGuard lock(impl_->mutex);
    const MagazinesHeld held(*impl_);
    snapshot = take_snapshot(*impl_);
  }
  snapshot.context = context();
  if (impl_->contexts) {
    snapshot.share = impl_->contexts->share();
    snapshot.contexts = impl_->contexts->views();
  }
  return snapshot;
}

std::vector<AllocationView> Pool::live_allocations() const {
  PoolGuard lock(impl_->mutex);
  const MagazinesHeld held(*impl_);
  return pool::live_allocations(*impl_);
}

const PoolOptions& Pool::options() const noexcept { return impl_->options; }
device::Device& Pool::device() const noexcept { return *impl_->device; }

std::string Pool::validate() const {
  const MissTurn turn(*impl_);
  PoolGuard lock(impl_->mutex);
  const MagazinesHeld held(*impl_);
  for (const auto& magazine : impl_->magazines) take_over_counts(*impl_, *magazine);
  return check_pool(*impl_);
}

}  // namespace cistern::pool
