// Log lines: levels, the sink, the shape of a line on stderr, and many threads at once.
#include "base/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace cistern::base {
namespace {

// Collects lines while it lives; puts level and sink back afterwards.
class Collector {
 public:
  Collector() { set_log_sink(&Collector::add, this); }
  ~Collector() {
    set_log_sink(nullptr, nullptr);
    set_log_level(LogLevel::warning);
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  static void add(LogLevel level, std::string_view room, std::string_view text, void* user) {
    static_cast<Collector*>(user)->lines_.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(room) +
                                                    " " + std::string(text));
  }
  std::vector<std::string> lines_;
};

// What `write` puts on file descriptor 2.
template <typename Write>
std::string captured_stderr(const Write& write) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  write();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  return text;
}

TEST(Log, PassesWarningsAndErrorsByDefault) {
  const Collector collector;
  log(LogLevel::debug, "pool", "a");
  log(LogLevel::info, "pool", "b");
  log(LogLevel::warning, "pool", "c");
  log(LogLevel::error, "device", "d");
  log(LogLevel::none, "pool", "e");
  EXPECT_EQ(collector.lines(), (std::vector<std::string>{"2 pool c", "3 device d"}));
}

TEST(Log, FollowsTheLevel) {
  const Collector collector;
  set_log_level(LogLevel::debug);
  EXPECT_TRUE(log_enabled(LogLevel::debug));
  log(LogLevel::debug, "pool", "a");
  set_log_level(LogLevel::none);
  EXPECT_FALSE(log_enabled(LogLevel::error));
  EXPECT_FALSE(log_enabled(LogLevel::none));
  log(LogLevel::error, "pool", "b");
  EXPECT_EQ(collector.lines(), (std::vector<std::string>{"0 pool a"}));
}

TEST(Log, WritesOneLineToStderr) {
  const std::string text = captured_stderr([] { log(LogLevel::warning, "pool", "no room"); });
  EXPECT_EQ(text, "cistern: warning: pool: no room\n");
}

TEST(Log, KeepsErrno) {
  captured_stderr([] {
    ::close(STDERR_FILENO);
    errno = ENOMEM;
    log(LogLevel::error, "device", "nobody hears this");
    EXPECT_EQ(errno, ENOMEM);
  });
}

TEST(Log, LinesThatASinkLogsGoToStderr) {
  set_log_sink([](LogLevel, std::string_view, std::string_view, void*) { log(LogLevel::error, "sink", "inner"); },
               nullptr);
  const std::string text = captured_stderr([] { log(LogLevel::error, "pool", "outer"); });
  set_log_sink(nullptr, nullptr);
  EXPECT_EQ(text, "cistern: error: sink: inner\n");
}

TEST(Log, ServesManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kLines = 500;
  const Collector collector;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kLines; ++i) log(LogLevel::error, "pool", "line");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(collector.lines(), std::vector<std::string>(kThreads * kLines, "3 pool line"));
}

TEST(Log, ReplacesTheSinkWhileThreadsLog) {
  captured_stderr([] {
    std::thread logger([] {
      for (int i = 0; i < 200; ++i) log(LogLevel::error, "pool", "x");
    });
    for (int i = 0; i < 100; ++i) {
      const Collector collector;  // dies while the other thread logs: nobody may be inside it then
    }
    logger.join();
  });
}

}  // namespace
}  // namespace cistern::base
