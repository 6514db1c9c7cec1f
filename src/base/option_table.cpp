// The option table itself. An option is listed here when something reads it, with its bounds: nothing else knows them.
#include "base/options.hpp"
#include "base/units.hpp"

namespace cistern::base {

namespace {

constexpr double kMaxPoolBytes = 16.0 * static_cast<double>(kTiB);  // more than any device, for years
constexpr double kMaxStepBytes = 1.0 * static_cast<double>(kTiB);

std::vector<OptionSpec> placement_options() {
  return {
      {.name = "CISTERN_PROFILE",
       .type = OptionType::choice,
       .range = "SMALL_MODEL|LARGE_MODELS|THROUGHPUT|SEVERAL_MODELS",
       .default_value = "",
       .doc = "Settings by a rule of thumb, under one name: defaults for those that are not set themselves. What each "
              "one sets is in the guide to tuning; `cistern tune` finds better ones on a trace.",
       .aliases = {}},
      {.name = "CISTERN_POLICY",
       .type = OptionType::choice,
       .range = "BEST_FIT|FIRST_FIT|EXACT_BEST_FIT",
       .default_value = "BEST_FIT",
       .doc = "How a hole is chosen: the tightest of a few in constant time, the one with the lowest address, or "
              "exactly the tightest (slow, the reference of tests).",
       .aliases = {"ASCEND_MEMPOOL_POLICY"}},
      {.name = "CISTERN_GROWTH",
       .type = OptionType::choice,
       .range = "EXPANDABLE|ARENAS",
       .default_value = "EXPANDABLE",
       .doc = "Where memory comes from when the pool grows: pages mapped into one long address range, or driver "
              "allocations of growing size. Devices without pages always use ARENAS.",
       .aliases = {}},
      {.name = "CISTERN_ON_MISS",
       .type = OptionType::choice,
       .range = "GROW_FIRST|STITCH_FIRST",
       .default_value = "STITCH_FIRST",
       .doc = "What is tried first when no hole fits: moving free pages together (smaller footprint) or growing (fewer "
              "page moves while there is room to grow).",
       .aliases = {}},
  };
}

std::vector<OptionSpec> size_options() {
  return {
      {.name = "CISTERN_INITIAL_BYTES",
       .type = OptionType::bytes,
       .range = "0..16TiB",
       .default_value = "0",
       .doc = "Memory taken from the device when the pool is made, rounded up to whole pages.",
       .aliases = {},
       .max_value = kMaxPoolBytes},
      {.name = "CISTERN_MINIMUM_BYTES",
       .type = OptionType::bytes,
       .range = "0..16TiB",
       .default_value = "0",
       .doc = "What is promised to the pool of its device's memory, rounded up to whole pages: other pools of the "
              "process never take it. No page is made for it before it is used.",
       .aliases = {},
       .max_value = kMaxPoolBytes},
      {.name = "CISTERN_LIMIT_BYTES",
       .type = OptionType::bytes,
       .range = "0..16TiB",
       .default_value = "0",
       .doc = "The pool never holds more than this; 0 is all of the device.",
       .aliases = {"ASCEND_MEMORY_POOL_MAX_SIZE"},
       .max_value = kMaxPoolBytes},
      {.name = "CISTERN_PAGE_BYTES",
       .type = OptionType::bytes,
       .range = "0 or 64KiB..1GiB",
       .default_value = "0",
       .doc =
           "The unit in which memory is mapped; 0 chooses by the pool's size. The device narrows the range: host and "
           "simulated devices take powers of two up to 2MiB.",
       .aliases = {},
       .min_value = static_cast<double>(64 * kKiB),
       .max_value = static_cast<double>(kGiB),
       .zero_is_allowed = true},
      {.name = "CISTERN_ROUND_BYTES",
       .type = OptionType::bytes,
       .range = "a power of two, 512..2MiB",
       .default_value = "512",
       .doc = "Requests are rounded up to a multiple of this.",
       .aliases = {},
       .min_value = 512,
       .max_value = static_cast<double>(2 * kMiB),
       .only_power_of_two = true},
  };
}

std::vector<OptionSpec> growth_options() {
  return {
      {.name = "CISTERN_GROWTH_BYTES",
       .type = OptionType::bytes,
       .range = "0..1TiB",
       .default_value = "0",
       .doc = "The least step of growth; 0 is one page, or 2MiB for driver arenas.",
       .aliases = {},
       .max_value = kMaxStepBytes},
      {.name = "CISTERN_MAX_GROWTH_BYTES",
       .type = OptionType::bytes,
       .range = "512..1TiB",
       .default_value = "1GiB",
       .doc = "Driver arenas double in size up to this.",
       .aliases = {},
       .min_value = 512,
       .max_value = kMaxStepBytes},
      {.name = "CISTERN_SLACK_PERCENT",
       .type = OptionType::integer,
       .range = "0..1000",
       .default_value = "2",
       .doc =
           "Under STITCH_FIRST: how far above its peak of live bytes the pool may grow, to end stitches that recur. It "
           "does so once it has moved as many pages as it has since it last grew; up to twice as far once it has moved "
           "32 times as many, four times as far for 256 times. 0 is never.",
       .aliases = {},
       .max_value = 1000},
      {.name = "CISTERN_MAGAZINE_BYTES",
       .type = OptionType::bytes,
       .range = "0..16TiB",
       .default_value = "0",
       .doc = "Freed blocks that each thread may keep, to serve its next requests of the same sizes without the pool's "
              "lock; 0 is none. For few sizes that recur, or many threads: faster, at some footprint. Given up before "
              "the pool grows. Pools of driver arenas keep none.",
       .aliases = {},
       .max_value = kMaxPoolBytes},
      {.name = "CISTERN_DIRECT_BYTES",
       .type = OptionType::bytes,
       .range = "0..16TiB",
       .default_value = "0",
       .doc = "Requests of at least this size get a driver allocation of their own, returned when freed; 0 is never.",
       .aliases = {},
       .max_value = kMaxPoolBytes},
  };
}

std::vector<OptionSpec> stream_options() {
  return {
      {.name = "CISTERN_STREAM_WAITS",
       .type = OptionType::flag,
       .range = "ON|OFF",
       .default_value = "OFF",
       .doc = "Lets the pool make a stream wait, on the device, for another stream's work when that gets it memory "
              "without growing.",
       .aliases = {}},
      {.name = "CISTERN_QUARANTINE",
       .type = OptionType::flag,
       .range = "ON|OFF",
       .default_value = "OFF",
       .doc = "Memory that is freed without naming a stream is reused only when the work is complete that the default "
              "stream and all streams known to the pool (15 at most) had then: for programs that free too early.",
       .aliases = {}},
      {.name = "CISTERN_RED_ZONE_BYTES",
       .type = OptionType::bytes,
       .range = "0..1MiB",
       .default_value = "0",
       .doc =
           "For debugging: so many bytes behind each block that nobody may write. Where the host can reach the memory "
           "they are looked at when the block is freed; who wrote past a block's end is an error in the log.",
       .aliases = {},
       .max_value = static_cast<double>(kMiB)},
  };
}

std::vector<OptionSpec> compaction_options() {
  return {
      {.name = "CISTERN_COMPACT",
       .type = OptionType::flag,
       .range = "ON|OFF",
       .default_value = "OFF",
       .doc = "A thread of the library joins free pages in quiet moments, before a request misses. Also ON where "
              "CISTERN_COMPACT_THRESHOLD or CISTERN_COMPACT_INTERVAL_MS is set and this is not.",
       .aliases = {}},
      {.name = "CISTERN_COMPACT_INTERVAL_MS",
       .type = OptionType::integer,
       .range = "1..86400000",
       .default_value = "5000",
       .doc = "How often the thread looks whether compaction would help, in milliseconds.",
       .aliases = {"ASCEND_MEMPOOL_COMPACT_INTERVAL"},
       .min_value = 1,
       .max_value = 86'400'000},
      {.name = "CISTERN_COMPACT_THRESHOLD",
       .type = OptionType::real,
       .range = "0.01..1",
       .default_value = "0.3",
       .doc =
           "It would help above this fragmentation rate (1 - largest hole / all holes), and whenever a recent request "
           "size fits into free memory but into no hole. 1 leaves only the second.",
       .aliases = {"ASCEND_MEMPOOL_COMPACT_THRESHOLD"},
       .min_value = 0.01,
       .max_value = 1},
      {.name = "CISTERN_COMPACT_MAX_BLOCKS",
       .type = OptionType::integer,
       .range = "0..1000000000",
       .default_value = "10000",
       .doc = "And above this many blocks, live and free.",
       .aliases = {},
       .max_value = 1'000'000'000},
      {.name = "CISTERN_COMPACT_STEP_US",
       .type = OptionType::integer,
       .range = "10..1000000",
       .default_value = "500",
       .doc = "The step budget in microseconds: pages move in batches as large as this pays for, and nobody else waits "
              "longer for any compaction, whoever asked for it.",
       .aliases = {},
       .min_value = 10,
       .max_value = 1'000'000},
  };
}

std::vector<OptionSpec> trace_options() {
  return {
      {.name = "CISTERN_TRACE",
       .type = OptionType::flag,
       .range = "ON|OFF",
       .default_value = "OFF",
       .doc = "Records every allocation, free and page movement, with call stacks, in CISTERN_TRACE_FILE.",
       .aliases = {"ASCEND_MEMPOOL_TRACE"}},
      {.name = "CISTERN_TRACE_FILE",
       .type = OptionType::text,
       .range = "a path",
       .default_value = "cistern.trace",
       .doc = "Where the trace goes, %p being the process's number; what is there is replaced. A name that ends in "
              ".log or "
              ".txt gets text, a line an event; any other the compact binary form. `cistern leaks` reads both.",
       .aliases = {"ASCEND_MEMPOOL_TRACE_FILE"}},
      {.name = "CISTERN_TRACE_STACK_DEPTH",
       .type = OptionType::integer,
       .range = "0..62",
       .default_value = "16",
       .doc = "How many return addresses of a call stack are recorded; 0 is none, which costs far less.",
       .aliases = {},
       .max_value = 62},
      {.name = "CISTERN_TRACE_WHEN_FULL",
       .type = OptionType::choice,
       .range = "DROP|WAIT",
       .default_value = "DROP",
       .doc =
           "What a thread does that allocates faster than its events can be written: drop the event and count it, or "
           "wait until there is room, so that the trace is complete.",
       .aliases = {}},
      {.name = "CISTERN_TRACE_LIMIT_BYTES",
       .type = OptionType::bytes,
       .range = "0 or 64KiB..16TiB",
       .default_value = "0",
       .doc = "About the most that the trace and the file before it (the same name and .1) take on disk: at half of it "
              "a new file is begun, with all that is live then. 0 is no limit.",
       .aliases = {},
       .min_value = static_cast<double>(64 * kKiB),
       .max_value = kMaxPoolBytes,
       .zero_is_allowed = true},
      {.name = "CISTERN_LEAK_REPORT",
       .type = OptionType::flag,
       .range = "ON|OFF",
       .default_value = "OFF",
       .doc = "When the process exits, what was never freed is logged as a warning, by the places that asked for it.",
       .aliases = {}},
  };
}

std::vector<OptionSpec> other_options() {
  return {
      {.name = "CISTERN_LOG_LEVEL",
       .type = OptionType::integer,
       .range = "0..4",
       .default_value = "2",
       .doc = "What is logged: 0 debug, 1 info, 2 warning, 3 error, 4 nothing. As in CANN, 3 is error and 0 is debug.",
       .aliases = {"ASCEND_GLOBAL_LOG_LEVEL"},
       .max_value = 4},
      {.name = "CISTERN_ONNXRUNTIME",
       .type = OptionType::text,
       .range = "a path or library name",
       .default_value = "",
       .doc = "The ONNX Runtime library (libonnxruntime.so) with which models are run; without it the usual places are "
              "searched.",
       .aliases = {}},
  };
}

std::vector<OptionSpec> ascend_options() {
  return {
      {.name = "CISTERN_ACL_DEVICES",
       .type = OptionType::integer,
       .range = "1..64",
       .default_value = "1",
       .doc = "How many simulated NPUs a program of the AscendCL library finds.",
       .aliases = {},
       .min_value = 1,
       .max_value = 64},
      {.name = "CISTERN_ACL_CAPACITY_BYTES",
       .type = OptionType::bytes,
       .range = "64MiB..1TiB",
       .default_value = "32GiB",
       .doc = "The memory of each of them.",
       .aliases = {},
       .min_value = static_cast<double>(64 * kMiB),
       .max_value = static_cast<double>(kTiB)},
      {.name = "CISTERN_ACL_LATENCY",
       .type = OptionType::choice,
       .range = "NONE|COUNTED|WAITED",
       .default_value = "COUNTED",
       .doc = "The modelled time of their driver calls: none, summed up, or passing for real.",
       .aliases = {}},
      {.name = "CISTERN_ACL_STRICT",
       .type = OptionType::flag,
       .range = "ON|OFF",
       .default_value = "OFF",
       .doc = "As on a real NPU: device memory traps when the host touches it, and host memory is refused where device "
              "memory is needed. OFF lets both pass.",
       .aliases = {}},
      {.name = "CISTERN_MODEL_SHAPES",
       .type = OptionType::text,
       .range = "MODEL:INPUT:AXIS=LO[:HI[:STEP]];...",
       .default_value = "",
       .doc = "Extents of dynamic axes of ONNX files that the AscendCL library loads; of a range the largest, and of "
              "axis 0 all, as batches to choose from. Without it axis 0 is 1, and other axes must be known models'. "
              ".om files have their own.",
       .aliases = {}},
  };
}

std::vector<OptionSpec> make_table() {
  std::vector<OptionSpec> table;
  for (auto* part : {placement_options, size_options, growth_options, stream_options, compaction_options, trace_options,
                     ascend_options, other_options}) {
    for (OptionSpec& spec : part()) table.push_back(std::move(spec));
  }
  return table;
}

}  // namespace

const std::vector<OptionSpec>& OptionSet::table() {
  static const auto* const kTable = new std::vector<OptionSpec>(make_table());  // for readers at process end, too
  return *kTable;
}

}  // namespace cistern::base
