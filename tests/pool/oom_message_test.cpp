// Every sentence of the out-of-memory message, from facts, and the message of a real pool.
#include "pool/oom_message.hpp"

#include <gtest/gtest.h>

#include "pool/pool_fixture.hpp"

namespace cistern::pool {
namespace {

OutOfMemoryFacts facts() {
  OutOfMemoryFacts facts;
  facts.pool = "serving";
  facts.device = "simulated:0";
  facts.requested_bytes = facts.needed_bytes = 72 * kMiB;
  facts.alignment = 512;
  facts.tag = "activations/det";
  facts.ledger.limit_bytes = 1024 * kMiB;
  facts.ledger.reserved_bytes = 1000 * kMiB;
  facts.ledger.allocated_bytes = 900 * kMiB;
  facts.ledger.free_bytes = 100 * kMiB;
  facts.ledger.largest_free_bytes = 25 * kMiB;
  facts.ledger.live_blocks = 12;
  facts.ledger.free_blocks = 4;
  facts.exposure = 0.125;
  facts.expandable = true;
  facts.device_known = true;
  facts.device_free_bytes = 3072 * kMiB;
  facts.device_total_bytes = 8192 * kMiB;
  facts.tried = {{"grow", "growing would pass the limit"}};
  facts.holders = {{"weights/det", 10, 800 * kMiB, 800 * kMiB}, {"", 1, 100 * kMiB, 100 * kMiB}};
  return facts;
}

TEST(OutOfMemoryMessage, TellsLimitFromDeviceAndWhatToSet) {
  OutOfMemoryFacts limited = facts();
  limited.limited = true;
  EXPECT_EQ(explain_out_of_memory(limited),
            "pool 'serving' cannot serve 75497472 (72 MiB) bytes for activations/det: its limit of 1 GiB is reached\n"
            "  pool: reserved 1000 MiB of limit 1 GiB; allocated 900 MiB in 12 blocks, cached 0 B, awaiting free 0 B, "
            "free 100 MiB in 4 holes, largest hole 25 MiB (fragmentation rate 75.0 %, exposure 12.5 %)\n"
            "  device: simulated:0 has 3 GiB free of 8 GiB; held by others: 4.02 GiB\n"
            "  tried: grow (growing would pass the limit)\n"
            "  holders: weights/det 800 MiB in 10 blocks, (no tag) 100 MiB in 1 block\n"
            "  advice: raise CISTERN_LIMIT_BYTES to at least 1124073472; free memory would suffice but lies in pieces: "
            "trim the pool, or stitch (CISTERN_ON_MISS)");
}

TEST(OutOfMemoryMessage, DoesNotAdviseALimitThatTheDeviceCannotFill) {
  OutOfMemoryFacts full = facts();
  full.limited = true;
  full.device_free_bytes = kMiB;
  const std::string text = explain_out_of_memory(full);
  EXPECT_EQ(text.find("raise CISTERN_LIMIT_BYTES"), std::string::npos);
  EXPECT_NE(text.find("too little free for a higher limit"), std::string::npos);
}

TEST(OutOfMemoryMessage, DriverArenasAreToldOfPages) {
  OutOfMemoryFacts arenas = facts();
  arenas.expandable = false;
  EXPECT_NE(explain_out_of_memory(arenas).find("CISTERN_GROWTH=EXPANDABLE"), std::string::npos);
}

TEST(OutOfMemoryMessage, ARequestLargerThanTheDeviceIsSaidToBe) {
  OutOfMemoryFacts giant = facts();
  giant.needed_bytes = giant.requested_bytes = 9000 * kMiB;
  EXPECT_NE(explain_out_of_memory(giant).find("the device is smaller than the request"), std::string::npos);
}

TEST(OutOfMemoryMessage, OnlyTheLargestHoldersAreListed) {
  OutOfMemoryFacts many = facts();
  for (int i = 0; i < 9; ++i) many.holders.push_back({"t" + std::to_string(i), 1, 1, 1});
  EXPECT_NE(explain_out_of_memory(many).find("and 6 more tags"), std::string::npos);
}

TEST(OutOfMemoryMessage, ARealPoolNamesItsHoldersAndWhatWasTried) {
  PoolOptions options;
  options.name = "small";
  options.limit_bytes = 4 * kMiB;
  TestPool test(make_device("counting", 64 * kMiB), options);
  AllocationRequest request;
  request.bytes = 3 * kMiB;
  request.tag = test->intern_tag("weights/det");
  ASSERT_TRUE(test->allocate(request).is_ok());
  const auto refused = test->allocate(2 * kMiB);
  ASSERT_EQ(refused.status().code(), base::StatusCode::limit_exceeded);
  const std::string text(refused.status().text());
  EXPECT_NE(text.find("pool 'small' cannot serve 2097152 (2 MiB) bytes: its limit of 4 MiB is reached"),
            std::string::npos);
  EXPECT_NE(text.find("weights/det 3 MiB in 1 block"), std::string::npos);
  EXPECT_NE(text.find("grow (growing by 2 MiB would pass the pool's limit of 4 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("raise CISTERN_LIMIT_BYTES to at least 5242880"), std::string::npos);
}

}  // namespace
}  // namespace cistern::pool
