// Elastic buffers while device calls fail: the ledger stays exact, contents stay, a refusal keeps the size, and when
// the device is well again everything works and nothing is lost.
#include "device/fault_device.hpp"
#include "pool/elastic_fixture.hpp"

namespace cistern::pool {
namespace {

// A buffer among blocks, in steps that take pages from holes, from the device, and give them back.
class Story {
 public:
  Story(TestPool& test, device::Device& memory) : test_(test), stamps_(memory) {}

  void run() {
    for (int i = 0; i < 8; ++i) allocate(2 * kTestPage);
    for (std::size_t i = 0; i < 8; i += 2) free(i);
    buffer_ = test_->reserve_elastic(8 * kMiB).take();
    grow(3 * kTestPage);   // from holes
    grow(18 * kTestPage);  // from holes and the device
    shrink(9 * kTestPage + 1);
    allocate(5 * kTestPage);
    grow(11 * kTestPage);
    free(1);
    grow(8 * kMiB);  // beyond the limit
    shrink(kTestPage);
    shrink(0);
    grow(3 * kTestPage);
    check();
  }

  // With a device that is well.
  void end() {
    EXPECT_TRUE(test_->grow_elastic(buffer_.id, std::max(bytes_, 8 * kTestPage)).is_ok());
    EXPECT_TRUE(stamps_.hold(buffer_.address, bytes_));
    EXPECT_TRUE(test_->shrink_elastic(buffer_.id, 4 * kTestPage).is_ok());
    EXPECT_EQ(test_->describe_elastic(buffer_.id).take().backed_bytes, 4 * kTestPage);
    expect_exact(test_);
    EXPECT_TRUE(test_->release_elastic(buffer_.id).is_ok());
    for (std::size_t i = 0; i < blocks_.size(); ++i) free(i);
    EXPECT_TRUE(test_->trim(0).is_ok());
    expect_exact(test_);
    EXPECT_EQ(test_->ledger().reserved_bytes, 0u);
  }

 private:
  struct Block {
    device::Address at = 0;
    std::uint64_t bytes = 0;
  };
  void allocate(std::uint64_t bytes) {
    blocks_.push_back({must_allocate(*test_.pool, bytes), bytes});
    if (blocks_.back().at != 0) stamps_.write(blocks_.back().at, 0, bytes);
  }
  void free(std::size_t i) {
    if (blocks_[i].at == 0) return;
    EXPECT_TRUE(test_->free(blocks_[i].at).is_ok());
    blocks_[i].at = 0;
  }
  void grow(std::uint64_t to) {
    if (to < bytes_) return;
    if (test_->grow_elastic(buffer_.id, to).is_ok()) {
      stamps_.write(buffer_.address, bytes_, to);
      bytes_ = to;
    }
    check();
  }
  void shrink(std::uint64_t to) {
    if (to > bytes_) return;
    EXPECT_TRUE(test_->shrink_elastic(buffer_.id, to).is_ok()) << "what the device refuses stays, the call succeeds";
    bytes_ = to;
    check();
  }
  void check() {
    expect_exact(test_);
    const ElasticView now = test_->describe_elastic(buffer_.id).take();
    EXPECT_EQ(now.bytes, bytes_);
    EXPECT_EQ(now.max_bytes, 8 * kMiB);
    EXPECT_TRUE(stamps_.hold(buffer_.address, bytes_));
    std::uint64_t requested = bytes_;
    for (const Block& block : blocks_) {
      if (block.at == 0) continue;
      requested += block.bytes;
      EXPECT_TRUE(stamps_.hold(block.at, block.bytes));
    }
    EXPECT_EQ(test_->ledger().requested_bytes, requested);
    EXPECT_LE(test_->ledger().reserved_bytes, test_->ledger().limit_bytes);
  }

  TestPool& test_;
  ElasticStamps stamps_;
  ElasticView buffer_;
  std::uint64_t bytes_ = 0;
  std::vector<Block> blocks_;
};

class ElasticFaults : public ::testing::TestWithParam<const char*> {
 protected:
  static std::shared_ptr<device::FaultInjectingDevice> make_faulty() {
    return std::make_shared<device::FaultInjectingDevice>(make_device(GetParam(), 64 * kMiB));
  }
  static void run_with(const device::Fault& fault) {
    auto device = make_faulty();
    {
      TestPool test(device, elastic_options(28 * kTestPage));
      device->plan().add(fault);
      Story story(test, device->behind());
      story.run();
      device->plan().reset();
      story.end();
    }
    EXPECT_EQ(device->behind().counters().driver_bytes, 0u) << "memory lost on the device";
  }
  static std::array<std::uint64_t, device::kOperations> calls_without_faults() {
    auto device = make_faulty();
    TestPool test(device, elastic_options(28 * kTestPage));
    device->plan().reset();
    Story story(test, device->behind());
    story.run();
    std::array<std::uint64_t, device::kOperations> calls{};
    for (std::size_t kind = 0; kind < device::kOperations; ++kind) {
      calls[kind] = device->plan().calls(static_cast<device::Operation>(kind));
    }
    return calls;
  }
};

TEST_P(ElasticFaults, EveryCallFailingOnce) {
  std::uint64_t calls = 0;
  for (const std::uint64_t of_kind : calls_without_faults()) calls += of_kind;
  ASSERT_GE(calls, 50u);
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(calls) + " fails");
    device::Fault fault;
    fault.nth = nth;
    run_with(fault);
    if (HasFailure()) return;
  }
}

// The way back fails, too: pages that are mapped and can be neither enabled nor taken back wait with the buffer.
TEST_P(ElasticFaults, EveryKindOfCallFailingTwiceOrForGood) {
  const auto calls = calls_without_faults();
  for (std::size_t kind = 0; kind < device::kOperations; ++kind) {
    for (std::uint64_t nth = 1; nth <= calls[kind]; nth += 1 + nth / 8) {
      for (const std::uint64_t times : {std::uint64_t{2}, device::Fault::kForever}) {
        device::Fault fault;
        fault.operation = static_cast<device::Operation>(kind);
        fault.nth = nth;
        fault.times = times;
        SCOPED_TRACE(std::string(device::operation_name(*fault.operation)) + " fails from call " + std::to_string(nth) +
                     (times == 2 ? ", twice" : ", for good"));
        run_with(fault);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ElasticFaults, AccessAndUnmapRefusedTogetherLeaveStuckPagesToTheBuffer) {
  auto device = make_faulty();
  {
    TestPool test(device, elastic_options(64 * kTestPage));
    ElasticStamps stamps(device->behind());
    const ElasticView buffer = test->reserve_elastic(8 * kMiB).take();
    ASSERT_TRUE(test->grow_elastic(buffer.id, 4 * kTestPage).is_ok());
    stamps.write(buffer.address, 0, 4 * kTestPage);
    for (const device::Operation operation : {device::Operation::set_access, device::Operation::unmap}) {
      device::Fault fault;
      fault.operation = operation;
      fault.times = device::Fault::kForever;
      device->plan().add(fault);
    }
    EXPECT_FALSE(test->grow_elastic(buffer.id, 9 * kTestPage).is_ok());
    expect_exact(test);
    EXPECT_EQ(test->describe_elastic(buffer.id).take().bytes, 4 * kTestPage);
    EXPECT_NE(test->grow_elastic(buffer.id, 5 * kTestPage).code(), base::StatusCode::ok) << "still refused";
    expect_exact(test);
    // Nobody else is served from what is stuck.
    const device::Address other = must_allocate(*test.pool, kTestPage / 2);
    EXPECT_TRUE(other == 0 || other < buffer.address || other >= buffer.address + 8 * kMiB);
    device->plan().reset();
    ASSERT_TRUE(test->grow_elastic(buffer.id, 20 * kTestPage).is_ok());
    EXPECT_TRUE(stamps.hold(buffer.address, 4 * kTestPage));
    stamps.write(buffer.address, 0, 20 * kTestPage);
    EXPECT_TRUE(stamps.hold(buffer.address, 20 * kTestPage));
    expect_exact(test);
  }
  EXPECT_EQ(device->behind().counters().driver_bytes, 0u);
}

TEST_P(ElasticFaults, ABufferReleasedWithStuckPagesGivesThemToThePool) {
  auto device = make_faulty();
  {
    TestPool test(device, elastic_options(64 * kTestPage));
    const ElasticView buffer = test->reserve_elastic(8 * kMiB).take();
    for (const device::Operation operation : {device::Operation::set_access, device::Operation::unmap}) {
      device::Fault fault;
      fault.operation = operation;
      fault.times = device::Fault::kForever;
      device->plan().add(fault);
    }
    EXPECT_FALSE(test->grow_elastic(buffer.id, 9 * kTestPage).is_ok());
    EXPECT_TRUE(test->release_elastic(buffer.id).is_ok());
    expect_exact(test);
    device->plan().reset();
    EXPECT_TRUE(test->trim(0).is_ok());
    EXPECT_EQ(test->ledger().reserved_bytes, 0u);
    expect_exact(test);
    EXPECT_TRUE(test->reserve_elastic(400 * kTestPage).is_ok()) << "all addresses are the pool's again";
  }
  EXPECT_EQ(device->behind().counters().driver_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Devices, ElasticFaults, ::testing::Values("host", "simulated"));

}  // namespace
}  // namespace cistern::pool
