// A process that is killed while it records: the file reads up to what was written last, everything in it is true, and
// it says how much is missing. The killer compares with what the victim had really done.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "trace/trace_fixture.hpp"

namespace cistern::trace {
namespace {

// Memory that both processes see.
struct Witness {
  std::atomic<std::uint64_t> pairs{0};  // allocations and frees that the victim has made, one of each
  std::atomic<bool> is_ready{false};
};

class SharedWitness {
 public:
  SharedWitness() {
    void* memory = ::mmap(nullptr, sizeof(Witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    witness_ = new (memory) Witness;
  }
  SharedWitness(const SharedWitness&) = delete;
  SharedWitness& operator=(const SharedWitness&) = delete;
  ~SharedWitness() { ::munmap(witness_, sizeof(Witness)); }
  Witness* operator->() const { return witness_; }

 private:
  Witness* witness_;
};

[[noreturn]] void be_the_victim(const std::string& file, unsigned threads, Witness* witness) {
  RecorderOptions options = record_to(file, 0);
  options.waits_for_room = true;  // so that whatever is not in the file is missing for the kill, not for want of room
  auto recorder = Recorder::start(options);
  RecordedPool pool(recorder);
  const auto work = [&] {
    for (std::uint64_t i = 0;; ++i) {
      const auto served = pool->allocate(512 + i % 7 * 512);
      if (!served.is_ok() || !pool->free(served.value()).is_ok()) std::abort();
      witness->pairs.fetch_add(1);
      if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  witness->is_ready.store(true);
  work();
  std::abort();
}

// Frees without their allocation, of another size than its, and allocations of what is live. Numbers must ascend.
std::size_t contradictions(const Trace& trace) {
  std::map<std::uint64_t, std::uint64_t> live;
  std::size_t found = 0;
  std::uint64_t last = 0;
  for (const TraceEvent& event : trace.events) {
    found += event.sequence > last ? 0 : 1;
    last = event.sequence;
    if (event.op == EventOp::allocate) {
      found += live.count(event.address);
      live[event.address] = event.requested_bytes;
    } else if (event.op == EventOp::free) {
      const auto block = live.find(event.address);
      found += block == live.end() || block->second != event.requested_bytes ? 1 : 0;
      if (block != live.end()) live.erase(block);
    }
  }
  return found;
}

struct Kill {
  const char* file;
  unsigned threads;
};
class Killed : public ::testing::TestWithParam<Kill> {};
INSTANTIATE_TEST_SUITE_P(All, Killed,
                         ::testing::Values(Kill{"a.trace", 1}, Kill{"a.trace", 3}, Kill{"a.log", 1}, Kill{"a.log", 3}),
                         [](const auto& param) {
                           return std::string(param.param.file + 2) + std::to_string(param.param.threads);
                         });

TEST_P(Killed, TheFileReadsToTheLastChunkAndSaysHowMuchIsMissing) {
  std::uint64_t seen = 0;
  for (int round = 0; round < 8; ++round) {
    TestDirectory directory;
    const std::string file = directory.file(GetParam().file);
    SharedWitness witness;
    const pid_t victim = ::fork();
    if (victim == 0) be_the_victim(file, GetParam().threads, witness.operator->());
    while (!witness->is_ready.load()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + 37 * round));
    ::kill(victim, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(victim, &status, 0), victim);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const std::uint64_t pairs = witness->pairs.load();
    auto read = read_trace(file);
    if (!read.is_ok()) {
      EXPECT_LT(pairs, 100'000U) << "nothing was written: " << read.status().to_string();
      continue;
    }
    const Trace& trace = read.value();
    EXPECT_FALSE(trace.ended);
    EXPECT_EQ(trace.dropped, 0U);
    EXPECT_EQ(contradictions(trace), 0U);
    const std::uint64_t last = trace.events.empty() ? 0 : trace.events.back().sequence;
    seen += trace.events.size();
    if (trace.damage.empty()) {
      EXPECT_EQ(trace.unread_bytes, 0U);
    } else {
      EXPECT_GT(trace.unread_bytes, 0U);
    }
    // Page events have numbers, too, so the victim had handed out at least two a pair; and each thread may have been
    // inside one more.
    EXPECT_LE(trace.newest, 2 * (pairs + GetParam().threads) + 100);
    const std::vector<std::string> missing = what_is_missing(trace);
    ASSERT_EQ(missing.size(), 2U);
    if (trace.newest > last) {
      EXPECT_NE(missing[1].find("lacks up to " + std::to_string(trace.newest - last) + " events"), std::string::npos)
          << missing[1];
    } else {
      EXPECT_NE(missing[1].find("has every event that had happened when it was last written"), std::string::npos);
    }
  }
  EXPECT_GT(seen, 1000U);
}

}  // namespace
}  // namespace cistern::trace
