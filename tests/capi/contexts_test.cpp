// Contexts through the C interface: promises, sums, whose memory an address is, snapshots, and forks.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "capi/capi_fixture.hpp"

namespace cistern::capi_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

cistern_status_t create(cistern_device_t* device, const char* name, std::uint64_t minimum, std::uint64_t maximum,
                        cistern_pool_t** pool) {
  cistern_pool_options_t options{};
  options.struct_size = sizeof options;
  options.name = name;
  options.minimum_bytes = minimum;
  options.limit_bytes = maximum;
  return cistern_pool_create(device, &options, pool);
}

cistern_context_info_t context_of(cistern_pool_t* pool) {
  cistern_context_info_t info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(cistern_get_context(pool, &info), CISTERN_OK) << last_text();
  return info;
}

class ContextsOfADevice : public testing::Test {
 protected:
  void SetUp() override {
    cistern_set_log_level(CISTERN_LOG_ERROR);  // pools are destroyed with live blocks on purpose
    device_ = open_device("simulated", 64 * kMiB, CISTERN_DEVICE_NO_LATENCY);
    ASSERT_EQ(create(device_, "one", 16 * kMiB, 32 * kMiB, &one_), CISTERN_OK) << last_text();
    ASSERT_EQ(create(device_, "two", 8 * kMiB, 0, &two_), CISTERN_OK) << last_text();
  }
  void TearDown() override {
    cistern_pool_destroy(one_, nullptr);
    cistern_pool_destroy(two_, nullptr);
    cistern_device_close(device_);
  }
  static cistern_address_t allocate(cistern_pool_t* pool, std::uint64_t bytes) {
    cistern_address_t address = 0;
    EXPECT_EQ(cistern_allocate(pool, bytes, &address), CISTERN_OK) << last_text();
    return address;
  }

  cistern_device_t* device_ = nullptr;
  cistern_pool_t* one_ = nullptr;
  cistern_pool_t* two_ = nullptr;
};

TEST_F(ContextsOfADevice, TellWhereTheyStandAndAddUp) {
  allocate(one_, 20 * kMiB);
  allocate(two_, kMiB);
  const cistern_context_info_t one = context_of(one_);
  const cistern_context_info_t two = context_of(two_);
  EXPECT_STREQ(one.name, "one");
  EXPECT_EQ(one.allocated_bytes, 20 * kMiB);
  EXPECT_EQ(one.minimum_bytes, 16 * kMiB);
  EXPECT_EQ(one.maximum_bytes, 32 * kMiB);
  EXPECT_EQ(one.borrowed_bytes, one.reserved_bytes - 16 * kMiB);
  EXPECT_EQ(two.maximum_bytes, 64 * kMiB);
  EXPECT_EQ(two.borrowed_bytes, 0u);
  cistern_device_share_t share{};
  share.struct_size = sizeof share;
  ASSERT_EQ(cistern_get_device_share(device_, &share), CISTERN_OK);
  EXPECT_EQ(share.contexts, 2u);
  EXPECT_EQ(share.capacity_bytes, 64 * kMiB);
  EXPECT_EQ(share.promised_bytes, 24 * kMiB);
  EXPECT_EQ(share.reserved_bytes, one.reserved_bytes + two.reserved_bytes);
  EXPECT_EQ(share.borrowed_bytes, one.borrowed_bytes);
  EXPECT_EQ(share.lendable_bytes, 64 * kMiB - one.reserved_bytes - 8 * kMiB);
  cistern_memory_info_t memory{};
  memory.struct_size = sizeof memory;
  ASSERT_EQ(cistern_device_memory(device_, &memory), CISTERN_OK);
  EXPECT_EQ(memory.total_bytes - memory.free_bytes, share.reserved_bytes) << "nobody else is on this device";
}

TEST_F(ContextsOfADevice, RefuseWhatIsPromisedTwice) {
  cistern_pool_t* third = nullptr;
  EXPECT_EQ(create(device_, "third", 41 * kMiB, 0, &third), CISTERN_LIMIT_EXCEEDED);
  EXPECT_NE(last_text().find("context 'third'"), std::string::npos) << last_text();
  EXPECT_EQ(create(device_, "third", 2 * kMiB, kMiB, &third), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(third, nullptr);
}

TEST_F(ContextsOfADevice, ShareOnePageSizeWhateverTheirLimits) {
  cistern_pool_t* mean = nullptr;  // alone it would have pages of its limit's size
  ASSERT_EQ(create(device_, "mean", 0, kMiB, &mean), CISTERN_OK);
  allocate(one_, 10);
  allocate(mean, 10);
  EXPECT_EQ(context_of(one_).reserved_bytes, context_of(mean).reserved_bytes);
  EXPECT_EQ(cistern_pool_destroy(mean, nullptr), CISTERN_OK);
}

TEST_F(ContextsOfADevice, FindTheOwnerOfAnAddress) {
  const cistern_address_t block = allocate(one_, 4096);
  EXPECT_EQ(cistern_free(two_, block), CISTERN_WRONG_CONTEXT);
  EXPECT_NE(last_text().find("'one'"), std::string::npos) << last_text();
  cistern_pool_t* owner = nullptr;
  EXPECT_EQ(cistern_find_owner(block + 100, &owner), CISTERN_OK);
  EXPECT_EQ(owner, one_);
  EXPECT_EQ(cistern_find_owner(64, &owner), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_find_owner(block, nullptr), CISTERN_INVALID_ARGUMENT);
  EXPECT_EQ(cistern_free_anywhere(block + 512), CISTERN_INVALID_ARGUMENT) << "the inside of a block";
  EXPECT_EQ(cistern_free_anywhere(block), CISTERN_OK) << last_text();
  EXPECT_EQ(cistern_free_anywhere(block), CISTERN_DOUBLE_FREE);
  EXPECT_EQ(cistern_free_anywhere(64), CISTERN_NOT_FOUND);
  EXPECT_EQ(cistern_free_anywhere(0), CISTERN_OK);
}

TEST_F(ContextsOfADevice, AreInSnapshots) {
  allocate(one_, 20 * kMiB);
  std::size_t needed = 0;
  ASSERT_EQ(cistern_snapshot_json(two_, nullptr, 0, &needed), CISTERN_OK);
  std::vector<char> text(needed + 4096);
  ASSERT_EQ(cistern_snapshot_json(two_, text.data(), text.size(), &needed), CISTERN_OK);
  const auto json = nlohmann::json::parse(text.data());
  EXPECT_EQ(json["context"]["name"], "two");
  EXPECT_EQ(json["context"]["minimum_bytes"], 8 * kMiB);
  std::uint64_t sum = 0;
  for (const auto& each : json["device_share"]["contexts"]) sum += each["reserved_bytes"].get<std::uint64_t>();
  EXPECT_EQ(json["device_share"]["contexts"].size(), 2u);
  EXPECT_EQ(json["device_share"]["reserved_bytes"], sum);
  EXPECT_EQ(sum, context_of(one_).reserved_bytes);
}

// The exit code of a child that does `work`.
template <typename Work>
int in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int state = 0;
  EXPECT_EQ(waitpid(child, &state, 0), child);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

TEST_F(ContextsOfADevice, AForkedChildIsToldAndTheParentGoesOn) {
  const cistern_address_t block = allocate(one_, 4096);
  const int code = in_child([&] {
    cistern_address_t mine = 0;
    if (cistern_allocate(one_, 4096, &mine) != CISTERN_UNSUPPORTED) return 1;
    if (last_text().find("exec()") == std::string::npos) return 2;
    if (cistern_free(one_, block) != CISTERN_UNSUPPORTED) return 3;
    if (cistern_free_anywhere(block) != CISTERN_UNSUPPORTED) return 4;
    if (cistern_pool_destroy(one_, nullptr) != CISTERN_UNSUPPORTED) return 5;
    cistern_device_t* device = nullptr;
    if (cistern_device_open(nullptr, &device) != CISTERN_UNSUPPORTED) return 6;
    return device == nullptr ? 0 : 7;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(cistern_free(one_, block), CISTERN_OK) << last_text();
  allocate(one_, 4096);
}

}  // namespace
}  // namespace cistern::capi_test
