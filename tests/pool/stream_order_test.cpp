// Nobody gets memory that work may still use: random calls and steps against a record of every stream's work on every
// byte.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "instrumented.hpp"
#include "pool/stream_fixture.hpp"

namespace cistern::pool {
namespace {

// What the pool must respect, kept as simply as can be: for each granule and stream, the number of the last work that
// touches it. The streams are stepped, so the record knows exactly which work is complete.
class HazardRecord {
 public:
  struct Stream {
    device::StreamHandle handle = 0;
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
  };

  void touch(device::Address at, std::uint64_t bytes, std::size_t stream, std::uint64_t work) {
    for (std::uint64_t granule = at / 512; granule < (at + bytes) / 512; ++granule) last_[granule][stream] = work;
  }
  using Works = std::map<std::size_t, std::uint64_t>;
  // The last work on the range of each stream but `by` (none: of each), where it is not complete.
  Works unfinished(device::Address at, std::uint64_t bytes, std::size_t by, const std::vector<Stream>& streams) const {
    Works works;
    for (auto each = last_.lower_bound(at / 512); each != last_.end() && each->first < (at + bytes) / 512; ++each) {
      for (const auto& [stream, work] : each->second) {
        if (stream != by && work > streams[stream].completed) works[stream] = std::max(works[stream], work);
      }
    }
    return works;
  }

 private:
  std::map<std::uint64_t, Works> last_;
};

struct Live {
  device::Address at;
  std::uint64_t bytes;
  std::size_t stream;
};

constexpr std::size_t kNobody = ~std::size_t{0};  // no stream

class RandomUser {
 public:
  RandomUser(unsigned seed, PoolOptions options, std::size_t active) : random_(seed), pool_(options), active_(active) {
    for (std::size_t& stream : active_) stream = new_stream();
  }

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      act(random_() % 100);
      if (step % 50 == 0) (void)pool_.awaiting();
    }
    while (!live_.empty()) free_one();
    (void)pool_.awaiting();
    EXPECT_EQ(pool_->ledger().allocated_bytes, 0u);
  }

 private:
  void act(unsigned choice) {
    if (choice < 40) {
      allocate(any_active());
    } else if (choice < 45) {
      allocate(kNobody);
    } else if (choice < 75) {
      free_one();
    } else if (choice < 80) {
      share();
    } else if (choice < 98) {
      advance(any_active());
    } else if (choice < 99) {
      (void)pool_->trim(random_() % 4 * kMiB);
    } else {
      replace_stream();
    }
  }

  // The work is done after all of `before`, or the pool gave memory away too early.
  void submit(std::size_t stream, HazardRecord::Works before = {}) {
    HazardRecord::Stream& of = streams_[stream];
    const std::uint64_t work = ++of.submitted;
    const auto body = [this, stream, work, before = std::move(before)] {
      for (const auto& [other, number] : before) {
        EXPECT_GE(streams_[other].completed, number) << "memory used by stream " << other << " was given to " << stream;
      }
      streams_[stream].completed = work;
    };
    EXPECT_TRUE(pool_.device->submit(of.handle, {.duration_ns = 0, .body = body}).is_ok());
  }
  void use(const Live& block, std::size_t stream, HazardRecord::Works before = {}) {
    submit(stream, std::move(before));
    record_.touch(block.at, block.bytes, stream, streams_[stream].submitted);
  }

  void allocate(std::size_t stream) {
    const std::uint64_t bytes = 512 * (1 + random_() % 1000);
    const bool has_stream = stream != kNobody;
    const device::Address at = has_stream ? pool_.allocate(bytes, streams_[stream].handle) : pool_.allocate(bytes);
    if (at == 0) return;
    live_.push_back({at, bytes, has_stream ? stream : any_active()});
    const HazardRecord::Works before = record_.unfinished(at, bytes, stream, streams_);
    if (!has_stream) {
      EXPECT_TRUE(before.empty()) << "memory in use was given to a call without a stream";
    }
    use(live_.back(), live_.back().stream, before);
  }

  void free_one() {
    if (live_.empty()) return;
    std::swap(live_[random_() % live_.size()], live_.back());
    const Live block = live_.back();
    live_.pop_back();
    pool_.free(block.at, streams_[block.stream].handle);
  }

  // Another stream uses the block as well.
  void share() {
    if (live_.empty()) return;
    const Live& block = live_[random_() % live_.size()];
    const std::size_t other = any_active();
    if (!pool_->record_use(block.at, streams_[other].handle).is_ok()) return;
    use(block, other);
  }

  void advance(std::size_t stream) { (void)pool_.device->step(streams_[stream].handle); }

  // A stream ends with its work pending, and another takes its place; blocks that it used pass to that one.
  void replace_stream() {
    std::size_t& place = active_[random_() % active_.size()];
    const std::size_t old = place;
    for (Live& block : live_) {
      if (block.stream != old) continue;
      const base::Status noted = pool_->record_use(block.at, streams_[old].handle);
      if (noted.is_ok()) continue;
      EXPECT_EQ(noted.code(), base::StatusCode::busy);
      EXPECT_TRUE(pool_.device->wait_stream(streams_[old].handle).is_ok());
    }
    EXPECT_TRUE(pool_->forget_stream(streams_[old].handle).is_ok());
    EXPECT_TRUE(pool_.device->destroy_stream(streams_[old].handle).is_ok());
    place = new_stream();
    for (Live& block : live_) {
      if (block.stream == old) block.stream = place;
    }
  }
  std::size_t new_stream() {
    streams_.push_back({pool_.stream(), 0, 0});
    return streams_.size() - 1;
  }
  std::size_t any_active() { return active_[random_() % active_.size()]; }

  std::mt19937 random_;
  std::vector<HazardRecord::Stream> streams_;  // destroyed ones, too
  StreamPool pool_;
  std::vector<std::size_t> active_;
  std::vector<Live> live_;
  HazardRecord record_;
};

TEST(StreamOrder, RandomCallsNeverShareMemoryInUse) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PoolOptions options = StreamPool::limited(4 * kMiB + seed % 3 * 8 * kMiB);
    options.stream_waits = seed % 2 == 0;
    options.growth = seed % 5 == 0 ? Growth::arenas : Growth::expandable;
    options.on_miss = seed % 7 == 0 ? OnMiss::grow_first : OnMiss::stitch_first;
    RandomUser user(seed, options, 1 + seed % 4);
    user.run(history_steps(1500));
    if (HasFailure()) return;
  }
}

// More streams than slots.
TEST(StreamOrder, RandomCallsOfManyStreams) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomUser user(seed, StreamPool::limited(16 * kMiB), 24);
    user.run(history_steps(2000));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cistern::pool
