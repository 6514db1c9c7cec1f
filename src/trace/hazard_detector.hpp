// HazardDetector: work that touches memory it may not touch, told with the histories of the blocks concerned.
//
// On a real device, work that reads a block which the pool has given to somebody else finds wrong numbers some day. On
// a device that runs in this process every piece of work can say what it reads and writes (device/work.hpp), and the
// detector, which is told by pools who owns what and by the device when work begins and ends, finds:
//   reused too early   work for a block's next owner begins while work for an earlier owner of the same bytes, on
//   another
//                      stream, is not complete, and one of them writes
//   another context    work of one pool's user touches a block of another pool
//   past the end       a range begins in a block and ends behind it
//   not live           a range begins in memory that is nobody's when the work is submitted
//
// Work that is submitted after its block was freed looks like the next owner's, if there is one already.
//
// What it costs grows with the work that is submitted and not complete: a tool for tests, not for production.
//
// Thread-safety: all functions. Pools and devices that it watches keep it alive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/work.hpp"
#include "pool/observer.hpp"

namespace cistern::trace {

enum class HazardKind : std::uint8_t { reused_too_early, other_context, past_the_end, not_live };

// One call that a block's history is made of.
struct BlockCall {
  std::uint64_t sequence = 0;  // 0: has not happened
  std::uint32_t stream = 0;
  const void* caller = nullptr;
};

struct BlockHistory {
  std::string pool;
  std::uint64_t context = 0;
  device::Address address = 0;
  std::uint64_t bytes = 0;
  BlockCall allocated;
  BlockCall freed;
};

struct Hazard {
  HazardKind kind = HazardKind::not_live;
  std::string work;  // the name of the work at fault
  device::StreamHandle stream = 0;
  device::Touch touch;
  // The block that the work was submitted for (not live: the one that was there last, if it is remembered), and for
  // memory reused too early its next owner, for a range past the end the block that follows, if there is one.
  std::vector<BlockHistory> blocks;

  // Several lines, with call sites.
  std::string text() const;
};

class HazardDetector final : public device::WorkObserver, public std::enable_shared_from_this<HazardDetector> {
 public:
  static constexpr std::size_t kMostHazards = 1000;

  static std::shared_ptr<HazardDetector> create() { return std::shared_ptr<HazardDetector>(new HazardDetector); }
  ~HazardDetector() override;

  struct Watched {
    std::shared_ptr<pool::Observer> observer;  // for Pool::create()
    std::uint64_t context = 0;                 // for the Work of that pool's user
  };
  Watched watch(std::string_view pool);

  // In the order in which they were found; the first of them only, where there are very many. Each is logged as a
  // warning.
  std::vector<Hazard> hazards() const;

  void on_submit(device::WorkId id, device::StreamHandle stream, const device::Work& work) noexcept override;
  void on_begin(device::WorkId id) noexcept override;
  void on_end(device::WorkId id) noexcept override;

 private:
  class PoolObserver;
  using Owner = std::shared_ptr<BlockHistory>;
  struct Part {
    device::Touch touch;
    Owner owner;
  };
  struct Unfinished {
    device::StreamHandle stream = 0;
    std::string name;
    std::vector<Part> parts;
  };

  HazardDetector() = default;
  void on_event(const pool::Event& event, const std::string& pool, std::uint64_t context) noexcept;

  // All with the lock held.
  void allocated(const pool::Event& event, const std::string& pool, std::uint64_t context);
  void resized(const pool::Event& event, const std::string& pool, std::uint64_t context);
  void freed(const pool::Event& event, std::uint64_t context);
  void retire(std::map<device::Address, Owner>::iterator place);
  Owner owner_of(device::Address at) const;
  Owner last_owner_of(device::Address at) const;
  void check(const device::Touch& touch, const Owner& owner, std::uint64_t context, const Unfinished& work);
  void report(HazardKind kind, const Unfinished& work, const device::Touch& touch, const std::vector<Owner>& owners);

  static constexpr std::size_t kRemembered = 1024;  // freed blocks

  std::atomic<std::uint64_t> order_{0};
  std::atomic<std::uint64_t> contexts_{0};
  mutable std::mutex mutex_;
  std::map<device::Address, Owner> live_;
  std::deque<Owner> former_;  // the youngest last
  std::map<device::WorkId, Unfinished> unfinished_;
  std::vector<Hazard> hazards_;
};

}  // namespace cistern::trace
