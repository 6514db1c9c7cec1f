// Every format's sample gives exactly the events that its story tells, whether its format is found or forced, whatever
// the compression.
#include <gtest/gtest.h>

#include "replay/sources/read_trace.hpp"
#include "replay/sources/trace_text.hpp"

namespace cistern::replay {
namespace {

struct Sample {
  const char* file;
  const char* asked;  // format to ask for, "" to find out
  const char* format;
  const char* name;
  const char* events;
  const char* remarks;
  std::uint64_t peak;
};

constexpr const char* kPlain = "a0 1000 @0 s0 | a1 4096 @10 s1 | f0 @25 s0 | a2 512 @30 s1 | f1 @40 s2";
// Two blocks of the samples' story were live before; the one at 0x2000 had 2000 bytes and comes back with 3000.
constexpr const char* kSnapshot =
    "a0 1000 @0 s0 | a1 2000 @0 s0 | a2 4096 @0 s0 | a3 512 @10000 s1 | f1 @20000 s0 | f3 @40000 s1 | a4 3000 @50000 "
    "s0";

const Sample kSamples[] = {
    {"plain.csv", "", "csv", "plain", kPlain, "", 5096},
    {"plain.csv", "csv", "csv", "plain", kPlain, "", 5096},
    {"plain.csv.gz", "", "csv", "plain", kPlain, "", 5096},
    {"plain.csv.zst", "", "csv", "plain", kPlain, "", 5096},
    {"lifetimes.csv", "", "lifetimes", "lifetimes",
     "a0 1000 @0 s0 | a1 500 @5 s0 | f0 @10 s0 | a2 2000 @10 s0 | f1 @20 s0 | f2 @20 s0", "", 2500},
    {"snapshot_2.pickle", "", "pytorch", "snapshot_2", kSnapshot, "foreign 1, before 2", 8096},
    {"snapshot_4.pickle", "", "pytorch", "snapshot_4", kSnapshot, "foreign 1, before 2", 8096},
    {"snapshot_5.pickle", "pytorch", "pytorch", "snapshot_5", kSnapshot, "foreign 1, before 2", 8096},
    {"rmm.csv", "", "rmm", "rmm", "a0 1000 @0 s0 | a1 4096 @5000 s1 | f0 @15000 s0 | a2 512 @20000 s0",
     "unknown frees 1, foreign 1", 5096},
    // 2.5 MiB were allocated with the first block of 0.5: 1 MiB of it has a row of its own, 1 MiB has none.
    {"operator_memory.csv", "", "operator-memory", "operator_memory",
     "a0 1048576 @0 s0 | a1 1048576 @0 s0 | a2 524288 @0 s0 | a3 512 @99750 s0 | f3 @199750 s0 | f1 @249750 s0 | "
     "f2 @300250 s0 | a4 262144 @300250 s1",
     "before 2", 2621952},
    {"memscope.csv", "", "memscope", "memscope", "a0 512 @0 s1 | a1 1024 @100 s0 | f1 @200 s0", "foreign 4", 1536},
    {"memscope.csv", "memscope-hal", "memscope-hal", "memscope", "a0 2097152 @0 s1 | a1 480 @500 s0 | f1 @1000 s0",
     "foreign 4", 2097632},
    {"umpire.jsonl", "", "umpire", "umpire", "a0 134 @8971 s0 | a1 774 @16726 s1 | f0 @423755 s0", "zero 1, foreign 2",
     908},
};

class Formats : public testing::TestWithParam<Sample> {};

TEST_P(Formats, SampleTellsItsStory) {
  const Sample& sample = GetParam();
  auto read = read_trace(std::string(CISTERN_TEST_DATA "/traces/") + sample.file, sample.asked);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  const TraceData& trace = read.value();
  EXPECT_EQ(trace.format, sample.format);
  EXPECT_EQ(trace.name, sample.name);
  EXPECT_EQ(text_of(trace), sample.events);
  EXPECT_EQ(text_of(trace.remarks), sample.remarks);
  EXPECT_EQ(peak_live_bytes(trace), sample.peak);
  std::uint64_t allocations = 0;
  for (const TraceEvent& event : trace.events) allocations += event.op == TraceOp::allocate ? 1 : 0;
  EXPECT_EQ(trace.slots, allocations);
}

INSTANTIATE_TEST_SUITE_P(Samples, Formats, testing::ValuesIn(kSamples), [](const auto& test) {
  std::string name = std::string(test.param.file) + "_" + test.param.asked;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace cistern::replay
