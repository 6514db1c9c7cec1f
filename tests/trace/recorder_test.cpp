// What was recorded is what is read: round trips, kill -9, full disks, full rings, new files, forks, late threads.
#include "trace/recorder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/log.hpp"
#include "trace/trace_fixture.hpp"

namespace cistern::trace {
namespace {

std::vector<TraceEvent> of(const Trace& trace, EventOp op) {
  std::vector<TraceEvent> found;
  for (const TraceEvent& event : trace.events) {
    if (event.op == op) found.push_back(event);
  }
  return found;
}

class RoundTrip : public ::testing::TestWithParam<const char*> {
 protected:
  TestDirectory directory_;
  std::string file_ = directory_.file(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Forms, RoundTrip, ::testing::Values("a.trace", "a.log"),
                         [](const auto& param) { return std::string(param.index == 0 ? "binary" : "text"); });

TEST_P(RoundTrip, EveryFieldComesBack) {
  auto recorder = Recorder::start(record_to(file_));
  RecordedPool pool(recorder, "first pool");
  pool::AllocationRequest request;
  request.bytes = 100'000;
  request.tag = pool->intern_tag("kv alloc; 50%");
  const std::uint64_t before = base::SteadyClock().now_ns();
  const device::Address block = pool->allocate(request).value();
  const std::uint64_t after = base::SteadyClock().now_ns();
  ASSERT_TRUE(pool->free(block).is_ok());
  EXPECT_FALSE(pool->allocate(std::uint64_t{1} << 40).is_ok());
  pool.pool.reset();
  recorder->stop();
  const Trace trace = read_trace(file_).take();
  EXPECT_TRUE(trace.ended);
  EXPECT_EQ(trace.damage, "");
  EXPECT_EQ(trace.dropped, 0U);
  EXPECT_EQ(trace.process, static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(trace.tables.pools, (std::vector<PoolName>{{1, "first pool", "counting:0"}}));
  ASSERT_EQ(of(trace, EventOp::allocate).size(), 1U);
  const TraceEvent allocated = of(trace, EventOp::allocate)[0];
  EXPECT_EQ(allocated.address, block);
  EXPECT_EQ(allocated.requested_bytes, 100'000U);
  EXPECT_EQ(allocated.granted_bytes, 100'352U);
  EXPECT_EQ(allocated.pool, 1U);
  EXPECT_EQ(allocated.thread, static_cast<std::uint32_t>(::gettid()));
  EXPECT_EQ(trace.tables.tag_text(1, allocated.tag), "kv alloc; 50%");
  // The two clocks are read one after the other, so the line between them is off by some microseconds.
  EXPECT_GE(allocated.time + 1'000'000, before);
  EXPECT_LE(allocated.time, after + 1'000'000);
  ASSERT_GT(allocated.stack, 0U);
  EXPECT_GE(trace.tables.stacks[allocated.stack - 1].size(), 2U);
  EXPECT_NE(trace.tables.module_of(trace.tables.stacks[allocated.stack - 1][0]), nullptr);
  ASSERT_EQ(of(trace, EventOp::free).size(), 1U);
  EXPECT_EQ(of(trace, EventOp::free)[0].address, block);
  EXPECT_EQ(of(trace, EventOp::free)[0].requested_bytes, 100'000U) << "known from the allocation";
  ASSERT_EQ(of(trace, EventOp::out_of_memory).size(), 1U);
  EXPECT_EQ(of(trace, EventOp::fill)[0].granted_bytes, 2 * pool::kTestPage);
  EXPECT_EQ(trace.events.back().op, EventOp::pool_end);
}

TEST_P(RoundTrip, ManyEventsInOrder) {
  auto recorder = Recorder::start(record_to(file_, 0));
  RecordedPool pool(recorder);
  for (int i = 0; i < 5000; ++i) {
    const device::Address block = pool::must_allocate(*pool.pool, 1000 + static_cast<std::uint64_t>(i));
    ASSERT_TRUE(pool->free(block).is_ok());
  }
  recorder->stop();
  const Trace trace = read_trace(file_).take();
  EXPECT_EQ(of(trace, EventOp::allocate).size(), 5000U);
  EXPECT_EQ(of(trace, EventOp::free).size(), 5000U);
  EXPECT_EQ(recorder->counts().dropped, 0U);
  EXPECT_EQ(of(trace, EventOp::allocate)[4999].requested_bytes, 5999U);
  EXPECT_EQ(recorder->live().events.size(), 0U);
}

// A thread has a number and stands still before it tells of the event: what others do meanwhile waits for it.
TEST_P(RoundTrip, NoEventOvertakesOneThatIsOnItsWay) {
  TestDirectory directory;
  RecorderOptions options = record_to(directory.file(GetParam()), 0);
  options.round_ms = 5;
  auto recorder = Recorder::start(options);
  const std::shared_ptr<pool::Observer> observer = recorder->observe("p", "counting:0");
  const auto tell = [&observer](std::uint64_t sequence, std::uint64_t address) {
    pool::Event event;
    event.sequence = sequence;
    event.address = address;
    event.requested_bytes = event.granted_bytes = 512;
    observer->on_event(event);
  };
  const std::uint64_t slow = observer->next_sequence();
  std::thread([&] {
    for (std::uint64_t i = 0; i < 100; ++i) tell(observer->next_sequence(), 0x10000 + i * 512);
    (void)observer->next_sequence();
    observer->abandon_sequence();
  }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // many rounds
  EXPECT_EQ(recorder->counts().events, 100U) << "the writer has not been here: nothing is shown";
  tell(slow, 0x1000);
  recorder->stop();
  const Trace trace = read_trace(directory.file(GetParam())).take();
  ASSERT_EQ(trace.events.size(), 101U);
  for (std::size_t i = 1; i < trace.events.size(); ++i) {
    ASSERT_GT(trace.events[i].sequence, trace.events[i - 1].sequence);
  }
}

TEST_P(RoundTrip, MarksAreInTheirPlace) {
  auto recorder = Recorder::start(record_to(file_, 0));
  RecordedPool pool(recorder);
  recorder->mark("all allocated; 50%");
  const device::Address block = pool::must_allocate(*pool.pool, 4096);
  recorder->mark("second");
  recorder->mark("all allocated; 50%");
  ASSERT_TRUE(pool->free(block).is_ok());
  recorder->stop();
  const Trace trace = read_trace(file_).take();
  const auto marks = of(trace, EventOp::mark);
  ASSERT_EQ(marks.size(), 3U);
  EXPECT_EQ(trace.tables.tag_text(0, marks[0].tag), "all allocated; 50%");
  EXPECT_EQ(trace.tables.tag_text(0, marks[1].tag), "second");
  EXPECT_EQ(marks[2].tag, marks[0].tag);
  EXPECT_LT(marks[0].sequence, of(trace, EventOp::allocate)[0].sequence);
  EXPECT_GT(marks[2].sequence, of(trace, EventOp::allocate)[0].sequence);
  EXPECT_LT(marks[2].sequence, of(trace, EventOp::free)[0].sequence);
}

TEST_P(RoundTrip, AKilledProcessLeavesWhatWasFlushed) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto recorder = Recorder::start(record_to(file_));
    RecordedPool pool(recorder);
    for (int i = 0; i < 100; ++i) pool::must_allocate(*pool.pool, 4096);
    recorder->flush();
    for (int i = 0; i < 10; ++i) pool::must_allocate(*pool.pool, 8192);  // perhaps lost
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const Trace trace = read_trace(file_).take();
  EXPECT_FALSE(trace.ended);
  EXPECT_EQ(trace.damage, "");
  EXPECT_GE(of(trace, EventOp::allocate).size(), 100U);
}

TEST_P(RoundTrip, ANewFileKnowsWhatIsLive) {
  RecorderOptions options = record_to(file_);
  options.limit_bytes = 128 * pool::kKiB;
  auto recorder = Recorder::start(options);
  RecordedPool pool(recorder);
  const device::Address kept = pool::must_allocate(*pool.pool, 777);
  for (int i = 0; i < 160; ++i) {  // few events between two flushes: a file is ended only there
    for (int j = 0; j < 50; ++j) ASSERT_TRUE(pool->free(pool::must_allocate(*pool.pool, 4096)).is_ok());
    recorder->flush();
  }
  recorder->stop();
  struct stat info {};
  ASSERT_EQ(::stat((file_ + ".1").c_str(), &info), 0) << "a new file was begun";
  EXPECT_LT(static_cast<std::uint64_t>(info.st_size), options.limit_bytes);
  EXPECT_TRUE(read_trace(file_ + ".1").value().ended);
  const Trace trace = read_trace(file_).take();
  EXPECT_EQ(trace.damage, "");
  ASSERT_FALSE(trace.events.empty());
  EXPECT_EQ(trace.events.front().address, kept);
  EXPECT_EQ(trace.events.front().requested_bytes, 777U);
  ASSERT_GT(trace.events.front().stack, 0U);
  EXPECT_EQ(trace.tables.pools.size(), 1U);
  EXPECT_LE(trace.events.front().time, trace.events.back().time);
}

TEST_P(RoundTrip, TheFileIsPrivate) {
  ::close(::open(file_.c_str(), O_CREAT | O_WRONLY, 0644));
  Recorder::start(record_to(file_))->stop();
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

// ---- What goes wrong
// -------------------------------------------------------------------------------------------------

int warnings = 0;
void count_warning(base::LogLevel, std::string_view, std::string_view, void*) { ++warnings; }

TEST(RecorderFailure, AFullDiskOrAnUnwritableFileIsOneWarning) {
  TestDirectory directory;
  for (const std::string& path : {std::string("/dev/full"), directory.file("no/such/directory")}) {
    warnings = 0;
    base::set_log_sink(&count_warning, nullptr);
    auto recorder = Recorder::start(record_to(path));
    RecordedPool pool(recorder);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(pool->free(pool::must_allocate(*pool.pool, 4096)).is_ok());
      recorder->flush();
    }
    recorder->stop();
    base::set_log_sink(nullptr, nullptr);
    EXPECT_EQ(warnings, 1) << path;
    EXPECT_GE(recorder->counts().write_failures, 3U) << path;
  }
}

TEST(RecorderFailure, AFullRingDropsAndCounts) {
  TestDirectory directory;
  RecorderOptions options = record_to(directory.file("a.trace"), 0);
  options.ring_words = 128;
  options.round_ms = 60'000;
  auto recorder = Recorder::start(options);
  RecordedPool pool(recorder);
  std::uint64_t events = 0;
  for (int i = 0; i < 20'000; ++i, events += 2) {
    ASSERT_TRUE(pool->free(pool::must_allocate(*pool.pool, 4096)).is_ok());
  }
  recorder->stop();
  const Trace trace = read_trace(directory.file("a.trace")).take();
  EXPECT_GT(trace.dropped, 0U) << "128 words are 18 events";
  EXPECT_EQ(trace.dropped, recorder->counts().dropped);
  EXPECT_EQ(of(trace, EventOp::allocate).size() + of(trace, EventOp::free).size() + trace.dropped, events);
}

TEST(RecorderFailure, AFullRingThatWaitsLosesNothing) {
  TestDirectory directory;
  RecorderOptions options = record_to(directory.file("a.trace"), 0);
  options.ring_words = 128;
  options.waits_for_room = true;
  auto recorder = Recorder::start(options);
  RecordedPool pool(recorder);
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(pool->free(pool::must_allocate(*pool.pool, 4096)).is_ok());
  recorder->stop();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool->free(pool::must_allocate(*pool.pool, 4096)).is_ok());  // no wait
  const Trace trace = read_trace(directory.file("a.trace")).take();
  EXPECT_EQ(trace.dropped, 0U);
  EXPECT_EQ(of(trace, EventOp::allocate).size(), 20'000U);
  EXPECT_EQ(of(trace, EventOp::free).size(), 20'000U);
}

TEST(RecorderFailure, AForkedChildNeitherWaitsNorWrites) {
  TestDirectory directory;
  auto recorder = Recorder::start(record_to(directory.file("a.trace")));
  RecordedPool pool(recorder);
  pool::must_allocate(*pool.pool, 4096);
  recorder->flush();
  const std::string before = bytes_of(directory.file("a.trace"));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    pool::must_allocate(*pool.pool, 4096);
    recorder->flush();
    recorder->stop();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(bytes_of(directory.file("a.trace")), before);
  recorder->stop();
}

}  // namespace
}  // namespace cistern::trace
