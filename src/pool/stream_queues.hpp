// StreamQueues: which freed memory may be given to whom while work that uses it may still be running.
//
// A block that is freed on a stream may be reused by that stream at once: its work is done in order. For anybody else
// it is pending: free, but of a readiness slot, one a stream, until the work before the free is complete. How the pool
// learns that: the frees of a stream are numbered in batches; a batch is closed, an event is recorded behind it, and
// when the event is complete all batches up to that one are ready for everybody. Blocks of one slot merge, the later
// batch wins. So events are few: one for many frees, recycled, at most kMostInFlight at a time for each stream; and a
// slow stream holds back its own memory only. No driver call is made with the pool's lock held: batches are closed
// under the lock before the event is recorded, so an event never speaks for a free that comes after it.
//
// While only one stream has ever called, nothing of this is done: all free memory is ready, for it, and there is no
// event. The second user's first call ends that: what is free then becomes pending on the first. (Calls without a
// stream are such a user, too: their memory is for work of any stream.) Before pages leave a pool of one stream, the
// work on them must be complete as well, so those that move pages call settle_streams() first.
//
// record_use() notes another stream that uses a block. When it is freed, the block is parked, live for its arena, until
// the batches that were open then are complete on all those streams; then it joins its own stream's pending memory.
// With quarantine, frees without a stream are treated as used by every stream that the pool has seen.
//
// tests/model/readiness.pml is this protocol as a model; spin searches all its interleavings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "core/types.hpp"
#include "device/device.hpp"
#include "pool/pool_mutex.hpp"

namespace cistern::pool {

struct PoolCore;
class Arena;

// Streams that use a block besides its own: a bit for each readiness slot, in the upper half of the record's flags.
inline constexpr unsigned kUsesShift = 16;
inline constexpr std::uint32_t kPublicFlags = (std::uint32_t{1} << kUsesShift) - 1;
using SlotMask = std::uint32_t;
inline SlotMask uses_of(const core::BlockRecord& record) noexcept { return record.flags >> kUsesShift; }
inline constexpr SlotMask bit_of(core::ReadinessSlot slot) noexcept { return SlotMask{1} << slot; }

// An event that was recorded behind all frees of its slot up to `batch`.
struct EventInFlight {
  std::uint32_t batch = 0;
  std::uint32_t recorders = 0;  // threads that are recording it again now
  std::uint64_t order = 0;      // of recording, over all slots: the oldest has the smallest
  device::EventHandle event = 0;
};

struct StreamSlot {
  device::StreamHandle stream = 0;
  bool is_taken = false;
  std::uint64_t generation = 0;  // of the slot's batch numbers: others begin when this changes
  bool is_leaving = false;       // its stream is gone or going: no call finds it any more
  std::uint32_t open_batch = 1;  // frees go here
  std::uint32_t retired = 0;     // all batches up to this are complete
  std::uint32_t recorders = 0;   // threads between closing a batch and having its event in flight
  std::uint64_t open_frees = 0;  // in the open batch
  std::uint64_t open_bytes = 0;
  std::uint64_t uses = 0;                // live blocks whose record names this slot, and parked ones that will be its
  std::uint64_t calls = 0;               // misses on their way that remember this slot
  std::vector<EventInFlight> in_flight;  // ascending batch and order

  // Some batch that was closed, or has frees, has no event yet and nobody is recording one.
  bool needs_event() const noexcept;
  // All its frees are complete and nobody is about to say something of one.
  bool is_quiet() const noexcept;
  // And nothing else depends on this slot: its stream can be forgotten.
  bool is_idle() const noexcept { return is_quiet() && uses == 0 && calls == 0; }
};

struct ParkedBlock {
  Arena* arena = nullptr;
  core::BlockIndex block = core::kNoBlock;
  core::Readiness home;                // what it will be
  std::vector<core::Readiness> waits;  // what must be complete before
};

struct StreamQueues {
  static constexpr std::size_t kMostInFlight = 8;      // events, a slot
  static constexpr std::uint64_t kFreesPerBatch = 32;  // a batch with so many frees is closed at once
  enum class Users : std::uint8_t { none, one, many };

  Users users = Users::none;
  core::ReadinessSlot only = core::kReadySlot;  // users == one: the slot of that stream
  // users == one: its frees may not be complete, so nobody else may have free memory, and no page may leave.
  bool only_has_freed = false;
  bool was_settled = false;  // users is many only because pages were about to leave
  std::uint32_t movers = 0;  // threads inside StreamsSettled
  std::uint64_t streams_seen = 0;
  std::uint64_t last_generation = 0;
  std::array<StreamSlot, core::kMaxReadinessSlots> slots;  // the first is nobody's
  std::vector<device::EventHandle> spare_events;
  std::vector<ParkedBlock> parked;
  std::uint64_t parked_bytes = 0;
  std::uint64_t next_order = 0;
};

// A block whose owner has given it up and that its arena still takes for live.
struct FreedBlock {
  Arena* arena = nullptr;
  core::BlockIndex block = core::kNoBlock;
};

// --- Under the pool's lock, which may be dropped where a lock is passed ------------------------------------------

// Every call that names a stream begins with this, and calls without one while `only_has_freed`. The stream's slot; 0
// where all it may have is ready memory: there is none, or all slots are busy. The turn is not held.
core::ReadinessSlot enter_streams(PoolCore& pool, std::optional<device::StreamHandle> stream, PoolLock& lock);

// The only stream is not alone any more: work of it may still use what is free, so that becomes pending.
void end_single_stream(PoolCore& pool);

// The block becomes free as soon as the work so far of `slot` (0: none), of the streams that record_use() noted and of
// those in `also` is complete; for `slot` alone at once. The slot whose batch should be closed now, or 0.
core::ReadinessSlot free_after_work(PoolCore& pool, FreedBlock freed, core::ReadinessSlot slot, SlotMask also);

// The slots whose streams may use any block: what quarantine waits for.
SlotMask all_taken_slots(const PoolCore& pool) noexcept;

// All batches of a slot up to `batch` are complete. When none is left, the numbers begin anew: they have 32 bits.
std::uint64_t retire_batches(PoolCore& pool, core::ReadinessSlot slot, std::uint32_t batch);

// Closes the open batch of a slot and records an event behind it. A failure changes nothing that anybody relies on: the
// next event speaks for these frees, too.
base::Status close_batch(PoolCore& pool, core::ReadinessSlot slot, PoolLock& lock);

// --- With the turn as well ----------------------------------------------------------------------------------------

// Closes what is open, asks the events, and makes ready what is complete. The bytes.
std::uint64_t ask_events(PoolCore& pool, PoolLock& lock, base::Status* failure);

// Waits for the oldest event, and where no event can be had, for the whole device; others have the turn meanwhile.
// False: nothing is pending, or (*failure) the device refused.
bool wait_for_oldest(PoolCore& pool, PoolLock& lock, base::Status* failure);

// Before pages leave the pool: work of its only stream on free memory is waited for. True: the lock was dropped, and
// what was planned must be planned again.
bool settle_streams(PoolCore& pool, PoolLock& lock);

// Around everything that may settle streams, the turn held. When the last of those that do is through, the free memory
// of a pool of one stream is ready again. Takes the pool's lock.
class StreamsSettled {
 public:
  explicit StreamsSettled(PoolCore& pool);
  ~StreamsSettled();
  StreamsSettled(const StreamsSettled&) = delete;
  StreamsSettled& operator=(const StreamsSettled&) = delete;

 private:
  PoolCore& pool_;
};

// --- No lock held --------------------------------------------------------------------------------------------------

// The end of an allocation on a stream, or of one that cannot just be released (uses, quarantine): see
// Pool::free_async.
base::Status give_up_on(PoolCore& pool, device::Address address, std::optional<device::StreamHandle> stream);
base::Status record_use(PoolCore& pool, device::Address address, device::StreamHandle stream);
base::Status forget_stream(PoolCore& pool, device::StreamHandle stream);
// Waits for all that is pending and destroys the events; the pool is going away.
void end_streams(PoolCore& pool);

}  // namespace cistern::pool
