// Reading and writing byte counts and times: exact values, refusals, and round trips over all of 64 bits.
#include "base/units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace cistern::base {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::uint64_t parsed(std::string_view text) {
  auto result = parse_bytes(text);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return result.is_ok() ? result.value() : 0;
}

std::string refusal(std::string_view text) {
  auto result = parse_bytes(text);
  EXPECT_FALSE(result.is_ok()) << text << " was read as " << (result.is_ok() ? result.value() : 0);
  return result.is_ok() ? "" : result.status().to_string();
}

TEST(ParseBytes, ReadsPlainNumbers) {
  EXPECT_EQ(parsed("0"), 0U);
  EXPECT_EQ(parsed("8589934592"), 8589934592U);
  EXPECT_EQ(parsed("000512"), 512U);
  EXPECT_EQ(parsed("18446744073709551615"), kMax);
}

TEST(ParseBytes, ReadsUnitsInAnyCase) {
  for (const char* text : {"8GiB", "8gib", "8G", "8g", "8 GiB", " 8GiB ", "8\tG", "8GIB"}) {
    EXPECT_EQ(parsed(text), 8 * kGiB) << text;
  }
  EXPECT_EQ(parsed("512B"), 512U);
  EXPECT_EQ(parsed("64k"), 64 * kKiB);
  EXPECT_EQ(parsed("512 MiB"), 512 * kMiB);
  EXPECT_EQ(parsed("2T"), 2 * kTiB);
  EXPECT_EQ(parsed("3PiB"), 3 * 1024 * kTiB);
  EXPECT_EQ(parsed("15E"), 15 * 1024 * 1024 * kTiB);
}

TEST(ParseBytes, ReadsFractionsExactly) {
  EXPECT_EQ(parsed("1.5g"), kGiB + kGiB / 2);
  EXPECT_EQ(parsed("0.5k"), 512U);
  EXPECT_EQ(parsed("1.0001k"), 1024U);  // 1024.1024, whole bytes only
  EXPECT_EQ(parsed("1.1G"), 1181116006U);
  // One third of a GiB to more digits than a double has.
  EXPECT_EQ(parsed("0.33333333333333333333333333333333333333333333333333G"), kGiB / 3);
  EXPECT_EQ(parsed("15.99999999999999999999999E"), kMax);
}

TEST(ParseBytes, RefusesWithReasonAndExample) {
  EXPECT_NE(refusal("").find("'' is not a number of bytes: it is empty"), std::string::npos);
  EXPECT_NE(refusal("   ").find("empty"), std::string::npos);
  EXPECT_NE(refusal("-1").find("negative"), std::string::npos);
  EXPECT_NE(refusal("abc").find("does not begin with a digit"), std::string::npos);
  EXPECT_NE(refusal("18446744073709551616").find("more than 64 bits"), std::string::npos);
  EXPECT_NE(refusal("16EiB").find("more than 64 bits"), std::string::npos);
  EXPECT_NE(refusal("99999999999999999999999999999").find("more than 64 bits"), std::string::npos);
  EXPECT_NE(refusal("1.5").find("a byte has no fractions"), std::string::npos);
  EXPECT_NE(refusal("1.G").find("digits must follow the point"), std::string::npos);
  EXPECT_NE(refusal("10MB").find("'MB' is no unit"), std::string::npos);
  for (const char* text : {"1e9", "0x10", "+5", "1 2", "5 Gi B", "7GiBs", "1,5G", ".5G", "1..5G", "inf", "8GiB;"}) {
    EXPECT_NE(refusal(text).find("for example 8589934592, 8GiB"), std::string::npos) << text;
  }
}

TEST(FormatBytes, WritesThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(1531000), "1.46 MiB");
  EXPECT_EQ(format_bytes(64 * kKiB), "64 KiB");
  EXPECT_EQ(format_bytes(14710000000), "13.7 GiB");
  EXPECT_EQ(format_bytes(100 * kMiB), "100 MiB");
  EXPECT_EQ(format_bytes(kMax), "16 EiB");
}

TEST(FormatBytes, NeverWrites1024OfAUnit) {
  EXPECT_EQ(format_bytes(kMiB - 1), "1 MiB");
  EXPECT_EQ(format_bytes(kMiB - 513), "1023 KiB");
  EXPECT_EQ(format_bytes(kGiB - 1), "1 GiB");
}

TEST(FormatBytesExactly, UsesTheLargestWholeUnit) {
  EXPECT_EQ(format_bytes_exactly(0), "0");
  EXPECT_EQ(format_bytes_exactly(513), "513");
  EXPECT_EQ(format_bytes_exactly(kGiB), "1GiB");
  EXPECT_EQ(format_bytes_exactly(kGiB + kGiB / 2), "1536MiB");
  EXPECT_EQ(format_bytes_exactly(std::uint64_t{1} << 63), "8EiB");
}

TEST(FormatNanoseconds, WritesThreeDigits) {
  EXPECT_EQ(format_nanoseconds(0), "0 ns");
  EXPECT_EQ(format_nanoseconds(0.25), "0.25 ns");
  EXPECT_EQ(format_nanoseconds(12.34), "12.3 ns");
  EXPECT_EQ(format_nanoseconds(840), "840 ns");
  EXPECT_EQ(format_nanoseconds(999.6), "1 us");
  EXPECT_EQ(format_nanoseconds(12600), "12.6 us");
  EXPECT_EQ(format_nanoseconds(1.25e6), "1.25 ms");
  EXPECT_EQ(format_nanoseconds(3.4e9), "3.4 s");
  EXPECT_EQ(format_nanoseconds(7.2e12), "7200 s");
  EXPECT_EQ(format_nanoseconds(-1500), "-1.5 us");
  EXPECT_EQ(format_nanoseconds(std::numeric_limits<double>::quiet_NaN()), "? ns");
  EXPECT_EQ(format_nanoseconds(1e300), "1.00e+291 s");
}

RC_GTEST_PROP(ParseBytes, EveryNumberReadsBack, ()) {
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, kMax);
  RC_ASSERT(parse_bytes(std::to_string(bytes)).value() == bytes);
}

RC_GTEST_PROP(ParseBytes, WholeUnitsReadBack, ()) {
  const auto power = *rc::gen::inRange(0, 6);
  const auto count = *rc::gen::inRange<std::uint64_t>(0, (kMax >> (10 * (power + 1))));
  const std::string unit(1, "KMGTPE"[power]);
  RC_ASSERT(parse_bytes(std::to_string(count) + unit).value() == count << (10 * (power + 1)));
}

RC_GTEST_PROP(FormatBytesExactly, ReadsBack, ()) {
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, kMax) << *rc::gen::inRange(0, 64);
  RC_ASSERT(parse_bytes(format_bytes_exactly(bytes)).value() == bytes);
}

RC_GTEST_PROP(FormatBytes, ReadsBackWithinHalfAPercent, ()) {
  const auto shift = *rc::gen::inRange(0, 64);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, kMax) >> shift;
  RC_PRE(bytes < kMax - (kMax >> 8));  // "16 EiB" is one byte too many to read
  const std::string text = format_bytes(bytes);
  const double error = static_cast<double>(parse_bytes(text).value()) - static_cast<double>(bytes);
  RC_ASSERT(std::abs(error) <= 0.005 * static_cast<double>(bytes));
}

}  // namespace
}  // namespace cistern::base
