// The smallest stones: status, result, bits, clocks, tables that fill on touch, libraries that are opened late.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <thread>

#include "base/bits.hpp"
#include "base/clock.hpp"
#include "base/dynlib.hpp"
#include "base/lazy_table.hpp"
#include "base/result.hpp"
#include "base/status.hpp"

namespace cistern::base {
namespace {

TEST(Status, SuccessIsSmallAndSaysOk) {
  const Status status;
  EXPECT_TRUE(status.is_ok());
  EXPECT_EQ(status.code(), StatusCode::ok);
  EXPECT_EQ(status.to_string(), "ok");
  EXPECT_EQ(status.text(), "");
  EXPECT_EQ(sizeof(Status), sizeof(void*));
  EXPECT_TRUE(status.with_context("pool").is_ok());
}

TEST(Status, FailureKeepsCodeTextAndNativeCode) {
  const Status status(StatusCode::device_error, "the driver refused", 207001);
  EXPECT_FALSE(status.is_ok());
  EXPECT_EQ(status.code(), StatusCode::device_error);
  EXPECT_EQ(status.native_code(), 207001);
  EXPECT_EQ(status.to_string(), "device_error (native code 207001): the driver refused");
  const Status wider = status.with_context("arena 3");
  EXPECT_EQ(wider.to_string(), "device_error (native code 207001): arena 3: the driver refused");
}

TEST(Status, CopiesAreIndependent) {
  Status first = invalid_argument("a");
  const Status second = first;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
  first = Status();
  EXPECT_TRUE(first.is_ok());
  EXPECT_EQ(second.to_string(), "invalid_argument: a");
  first = second;
  EXPECT_EQ(first.to_string(), "invalid_argument: a");
}

// The numbers are the C ABI's.
TEST(Status, CodesAreFrozen) {
  constexpr std::string_view kNames[] = {
      "ok",   "invalid_argument", "out_of_memory", "limit_exceeded", "not_found", "double_free", "wrong_context",
      "busy", "unsupported",      "device_error",  "corrupted",      "io_error",  "internal"};
  std::int32_t number = 0;
  for (const std::string_view name : kNames) EXPECT_EQ(status_code_name(static_cast<StatusCode>(number++)), name);
  EXPECT_EQ(status_code_name(static_cast<StatusCode>(number)), "unknown");
}

TEST(Result, HoldsAValueOrAFailure) {
  Result<std::string> good = std::string("text");
  ASSERT_TRUE(good.is_ok());
  EXPECT_EQ(good.value(), "text");
  EXPECT_EQ(good.take(), "text");
  Result<std::string> bad = not_found("no such name");
  EXPECT_FALSE(bad.is_ok());
  EXPECT_EQ(bad.take_status().to_string(), "not_found: no such name");
}

TEST(Result, CarriesWhatOnlyMoves) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  EXPECT_EQ(*result.take(), 7);
}

RC_GTEST_PROP(Bits, RoundingBracketsTheValue, ()) {
  const auto alignment = std::uint64_t{1} << *rc::gen::inRange(0, 40);
  const auto value = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 60);
  const std::uint64_t up = round_up(value, alignment);
  const std::uint64_t down = round_down(value, alignment);
  RC_ASSERT(up % alignment == 0U);
  RC_ASSERT(down % alignment == 0U);
  RC_ASSERT(down <= value);
  RC_ASSERT(value <= up);
  RC_ASSERT(up - down == (is_aligned(value, alignment) ? 0 : alignment));
}

TEST(Bits, KnowsPowersOfTwo) {
  EXPECT_TRUE(is_power_of_two(1));
  EXPECT_TRUE(is_power_of_two(std::uint64_t{1} << 63));
  EXPECT_FALSE(is_power_of_two(0));
  EXPECT_FALSE(is_power_of_two(20U << 20));
}

TEST(Clock, OfTheMachineMovesForward) {
  const SteadyClock clock;
  const std::uint64_t before = clock.now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(clock.now_ns() - before, 2'000'000U);
}

TEST(Clock, OfATestMovesWhenToldTo) {
  ManualClock clock;
  EXPECT_EQ(clock.now_ns(), 0U);
  clock.advance(1500);
  EXPECT_EQ(clock.now_ns(), 1500U);
}

TEST(LazyTable, IsZeroAndTakesMemoryOnTouch) {
  auto table = LazyTable<std::uint64_t>::create(std::uint64_t{1} << 36);  // 512 GiB of addresses
  ASSERT_TRUE(table.is_ok()) << table.status().to_string();
  LazyTable<std::uint64_t> moved = table.take();
  EXPECT_EQ(moved.size(), std::uint64_t{1} << 36);
  EXPECT_EQ(moved[12345], 0U);
  moved[moved.size() - 1] = 7;
  EXPECT_EQ(moved[moved.size() - 1], 7U);
}

TEST(LazyTable, SaysWhatTheHostRefused) {
  const auto table = LazyTable<std::uint64_t>::create(std::uint64_t{1} << 60);
  ASSERT_FALSE(table.is_ok());
  EXPECT_EQ(table.status().code(), StatusCode::out_of_memory);
}

TEST(DynamicLibrary, OpensTheFirstThatLoads) {
  auto library = DynamicLibrary::open({"./no_such_library.so", "libm.so.6"});
  ASSERT_TRUE(library.is_ok()) << library.status().to_string();
  EXPECT_EQ(library.value().name(), "libm.so.6");
  const auto cosine = library.value().function<double(double)>("cos");
  ASSERT_TRUE(cosine.is_ok());
  EXPECT_EQ(cosine.value()(0.0), 1.0);
}

TEST(DynamicLibrary, ListsWhatWasTried) {
  const auto library = DynamicLibrary::open({"./no_such_library.so", "", "libnowhere.so.9"});
  ASSERT_FALSE(library.is_ok());
  EXPECT_EQ(library.status().code(), StatusCode::not_found);
  const std::string text(library.status().text());
  EXPECT_NE(text.find("./no_such_library.so ("), std::string::npos) << text;
  EXPECT_NE(text.find("; an empty name; "), std::string::npos) << text;
  EXPECT_NE(text.find("libnowhere.so.9 ("), std::string::npos) << text;
  EXPECT_EQ(DynamicLibrary::open({}).status().code(), StatusCode::invalid_argument);
}

TEST(DynamicLibrary, NamesTheMissingSymbol) {
  auto library = DynamicLibrary::open({"libm.so.6"});
  ASSERT_TRUE(library.is_ok());
  const auto symbol = library.value().symbol("cistern_no_such_symbol");
  ASSERT_FALSE(symbol.is_ok());
  EXPECT_EQ(symbol.status().code(), StatusCode::not_found);
  EXPECT_EQ(symbol.status().text().find("libm.so.6 has no symbol cistern_no_such_symbol"), 0U);
  const DynamicLibrary moved = library.take();
  EXPECT_TRUE(moved.symbol("sin").is_ok());
}

}  // namespace
}  // namespace cistern::base
