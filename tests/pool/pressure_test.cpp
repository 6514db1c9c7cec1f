// Memory pressure: who is asked, when, in which order, and what callbacks may do.
#include <stdexcept>

#include "pool/context_fixture.hpp"

namespace cistern::pool {
namespace {

// A pool that is full with blocks of a MiB, which callbacks can drop.
class PressureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pool_ = on_.make("needy", 0, 8 * kMiB).take();
    for (int i = 0; i < 8; ++i) cache_.push_back(must_allocate(*pool_, kMiB));
  }
  bool drop(std::size_t blocks = 1) {
    bool dropped = false;
    for (; blocks > 0 && !cache_.empty(); --blocks) {
      EXPECT_TRUE(pool_->free(cache_.back()).is_ok());
      cache_.pop_back();
      dropped = true;
    }
    return dropped;
  }

  TestDevice on_{"counting", 32 * kMiB};
  std::unique_ptr<Pool> pool_;
  std::vector<device::Address> cache_;
};

TEST_F(PressureTest, CallbacksAreAskedByPriorityUntilTheRequestIsServed) {
  std::vector<int> order;
  std::vector<Pressure> told;
  const auto add = [&](int priority, bool gives) {
    return pool_->add_pressure_callback(priority, [this, &order, &told, priority, gives](const Pressure& pressure) {
      order.push_back(priority);
      told.push_back(pressure);
      return gives && drop();
    });
  };
  add(30, true);
  add(10, false);
  add(20, true);
  add(40, true);
  EXPECT_TRUE(pool_->allocate(2 * kMiB).is_ok());
  EXPECT_EQ(order, (std::vector<int>{10, 20, 30})) << "40 was not needed";
  EXPECT_EQ(told[0].pool, "needy");
  EXPECT_EQ(told[0].device_kind, "counting");
  EXPECT_TRUE(told[0].by_own_limit);
  EXPECT_EQ(told[0].requested_bytes, 2 * kMiB);
  EXPECT_EQ(told[1].missing_bytes, 2 * kMiB);
  EXPECT_EQ(told[2].missing_bytes, kMiB) << "what 20 dropped is free";
  EXPECT_EQ(pool_->validate(), "");
}

TEST_F(PressureTest, EachIsAskedOnceInAMissAndAgainInTheNext) {
  int calls = 0;
  pool_->add_pressure_callback(0, [&](const Pressure&) {
    ++calls;
    return true;  // it says so, and has given nothing
  });
  const auto refused = pool_->allocate(kMiB);
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), base::StatusCode::limit_exceeded);
  EXPECT_NE(refused.status().text().find("pressure callbacks (nothing to do)"), std::string::npos)
      << refused.status().text();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(pool_->allocate(kMiB).is_ok());
  EXPECT_EQ(calls, 2);
}

TEST_F(PressureTest, NobodyIsAskedForWhatGrowthOrCompactionServes) {
  drop(4);
  pool_->add_pressure_callback(0, [&](const Pressure&) {
    ADD_FAILURE() << "there was room";
    return false;
  });
  EXPECT_TRUE(pool_->allocate(4 * kMiB).is_ok());
}

TEST_F(PressureTest, WhatACallbackThrowsIsContained) {
  pool_->add_pressure_callback(0, [](const Pressure&) -> bool { throw std::runtime_error("cache is locked"); });
  pool_->add_pressure_callback(1, [](const Pressure&) -> bool { throw 7; });
  pool_->add_pressure_callback(2, [&](const Pressure&) { return drop(); });
  EXPECT_TRUE(pool_->allocate(kMiB).is_ok());
  EXPECT_EQ(pool_->validate(), "");
}

TEST_F(PressureTest, ACallbackMayUseThePoolAndAMissInItCallsNone) {
  int depth = 0;
  pool_->add_pressure_callback(0, [&](const Pressure&) {
    EXPECT_EQ(depth++, 0) << "called from inside itself";
    EXPECT_FALSE(pool_->allocate(kMiB).is_ok());  // a miss of its own
    EXPECT_TRUE(drop(2));
    const device::Address block = must_allocate(*pool_, kMiB);
    EXPECT_NE(block, 0u);
    EXPECT_TRUE(pool_->free(block).is_ok());
    EXPECT_TRUE(pool_->trim(0).is_ok());
    EXPECT_EQ(pool_->validate(), "");
    --depth;
    return true;
  });
  EXPECT_TRUE(pool_->allocate(2 * kMiB).is_ok());
}

TEST_F(PressureTest, CallbacksMayRegisterAndRemove) {
  std::uint64_t own = 0;
  int later = 0;
  own = pool_->add_pressure_callback(0, [&](const Pressure&) {
    EXPECT_TRUE(pool_->remove_pressure_callback(own).is_ok());
    pool_->add_pressure_callback(5, [&](const Pressure&) {
      ++later;
      return drop();
    });
    return true;  // the new one is asked when the list begins again
  });
  EXPECT_TRUE(pool_->allocate(kMiB).is_ok());
  EXPECT_EQ(later, 1);
  EXPECT_EQ(pool_->remove_pressure_callback(own).code(), base::StatusCode::not_found);
}

TEST_F(PressureTest, OthersAreAskedForTheDevicesSakeIfTheyHaveBorrowed) {
  auto modest = on_.make("modest", 4 * kMiB).take();
  auto greedy = on_.make("greedy", kMiB).take();
  auto last = on_.make("last", 0).take();
  ASSERT_NE(must_allocate(*modest, 4 * kMiB), 0u);
  const device::Address borrowed = must_allocate(*greedy, 20 * kMiB);
  ASSERT_NE(borrowed, 0u);
  int asked = 0;
  modest->add_pressure_callback(0, [&](const Pressure&) {
    ADD_FAILURE() << "it is within its minimum";
    return false;
  });
  greedy->add_pressure_callback(0, [&](const Pressure& pressure) {
    ++asked;
    EXPECT_EQ(pressure.pool, "last");
    EXPECT_FALSE(pressure.by_own_limit);
    EXPECT_EQ(pressure.missing_bytes, 4 * kMiB);
    return greedy->free(borrowed).is_ok();
  });
  EXPECT_TRUE(last->allocate(4 * kMiB).is_ok());
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(pool_->allocate(4 * kMiB).is_ok()) << "its own limit: nobody else is asked";
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(on_.reserved(), on_.given_by_device());
}

}  // namespace
}  // namespace cistern::pool
