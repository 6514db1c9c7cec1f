// The text log as the articles read it: with grep and awk, run here by the shell on a real log.
#include "trace/text_log.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "trace/places.hpp"
#include "trace/trace_fixture.hpp"

namespace cistern::trace {
namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return out;
}

// A pool whose name, tag and freeing function all contain "alloc".
void record_some(const std::string& file) {
  auto recorder = Recorder::start(record_to(file));
  RecordedPool pool(recorder, "my allocator");
  std::vector<device::Address> blocks;
  for (int i = 0; i < 7; ++i) blocks.push_back(place_of_weights(pool.pool.get(), 4096));
  for (int i = 0; i < 5; ++i) blocks.push_back(place_of_requests(pool.pool.get(), 100));
  for (const device::Address block : blocks) deallocate_place(pool.pool.get(), block);
  EXPECT_FALSE(pool->allocate(std::uint64_t{1} << 40).is_ok());
  recorder->stop();
}

TEST(TextLog, TheArticlesCommandListsCallSites) {
  TestDirectory directory;
  const std::string file = directory.file("a.log");
  record_some(file);
  const std::string listed =
      output_of("grep \"alloc\" " + file + " | awk '{print $4}' | sort | uniq -c | sort -rn | head -20");
  std::istringstream lines(listed);
  std::uint64_t count = 0;
  std::string site;
  ASSERT_TRUE(lines >> count >> site);
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(site.substr(0, 19), "place_of_weights+0x") << listed;
  ASSERT_TRUE(lines >> count >> site);
  EXPECT_EQ(count, 5U);
  EXPECT_EQ(site.substr(0, 20), "place_of_requests+0x") << listed;
  EXPECT_FALSE(lines >> count) << listed;
}

TEST(TextLog, OnlyAllocationsContainTheWord) {
  TestDirectory directory;
  record_some(directory.file("a.log"));
  std::istringstream lines(bytes_of(directory.file("a.log")));
  std::string line;
  int allocations = 0;
  int frees = 0;
  while (std::getline(lines, line)) {
    if (line.find("alloc") == std::string::npos) {
      frees += line.find(" free 0x") != std::string::npos ? 1 : 0;
      continue;
    }
    ++allocations;
    EXPECT_NE(line.find(" alloc place_of_"), std::string::npos) << line;
  }
  EXPECT_EQ(allocations, 12);
  EXPECT_EQ(frees, 12);
}

TEST(TextLog, DamagedLinesEndTheReading) {
  TestDirectory directory;
  record_some(directory.file("a.log"));
  const std::string whole = bytes_of(directory.file("a.log"));
  const std::size_t events = parse_trace(whole).value().events.size();
  EXPECT_EQ(parse_trace(whole).value().damage, "");
  std::string damaged = whole;
  damaged[whole.find(" free ") + 1] = 'F';
  const Trace read = parse_trace(damaged).take();
  EXPECT_NE(read.damage, "");
  EXPECT_LT(read.events.size(), events);
  const Trace cut = parse_trace(std::string_view(whole).substr(0, whole.size() - 3)).take();
  EXPECT_FALSE(cut.ended);
  EXPECT_NE(cut.damage, "");
}

}  // namespace
}  // namespace cistern::trace
