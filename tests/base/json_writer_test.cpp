// JSON that other programs read: checked against the exact text and against an independent parser.
#include "base/json_writer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace cistern::base {
namespace {

template <typename Value>
std::string written(const Value& value) {
  std::string out;
  JsonWriter writer(&out);
  writer.value(value);
  EXPECT_TRUE(writer.is_complete());
  return out;
}

TEST(JsonWriter, WritesScalars) {
  EXPECT_EQ(written(true), "true");
  EXPECT_EQ(written(false), "false");
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(written(std::uint8_t{7}), "7");
  EXPECT_EQ(written("text"), "\"text\"");
  EXPECT_EQ(written(std::string("text")), "\"text\"");
}

TEST(JsonWriter, WritesShortestDoubles) {
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1.0), "1");
  EXPECT_EQ(written(-0.0), "-0");
  EXPECT_EQ(written(1e300), "1e+300");
  EXPECT_EQ(written(5e-324), "5e-324");
  EXPECT_EQ(written(-1.7976931348623157e308), "-1.7976931348623157e+308");
}

TEST(JsonWriter, WritesNullForWhatJsonLacks) {
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, EscapesStrings) {
  EXPECT_EQ(written("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(written("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(written(std::string_view("\0\x01\x1f\x7f", 4)), "\"\\u0000\\u0001\\u001f\x7f\"");
  EXPECT_EQ(written("\xe7\xa2\x8e"), "\"\xe7\xa2\x8e\"");
}

TEST(JsonWriter, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(written("a\xff\xfe"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(written("\xe7\xa2"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(written("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // a surrogate
  EXPECT_EQ(written("\xe7\"\n"), "\"\xef\xbf\xbd\\\"\\n\"");  // a cut character swallows nothing after it
}

void write_sample(JsonWriter* writer) {
  writer->begin_object().member("name", "pool").member("bytes", 512).key("empty").begin_object().end_object();
  writer->key("list").begin_array().value(1).begin_array().end_array().null().end_array().end_object();
}

TEST(JsonWriter, WritesCompactDocuments) {
  std::string out;
  JsonWriter writer(&out);
  write_sample(&writer);
  EXPECT_EQ(out, R"({"name":"pool","bytes":512,"empty":{},"list":[1,[],null]})");
  EXPECT_TRUE(writer.is_complete());
}

TEST(JsonWriter, WritesPrettyDocuments) {
  std::string out;
  JsonWriter writer(&out, JsonWriter::Style::pretty);
  write_sample(&writer);
  EXPECT_EQ(out,
            "{\n  \"name\": \"pool\",\n  \"bytes\": 512,\n  \"empty\": {},\n  \"list\": [\n    1,\n    [],\n    null\n"
            "  ]\n}");
}

TEST(JsonWriter, LetsTheCallerTakeTextOutInBetween) {
  std::string out;
  std::string document;
  JsonWriter writer(&out);
  writer.begin_array();
  for (int i = 0; i < 3; ++i) {
    writer.value(i);
    document += out;
    out.clear();
  }
  writer.end_array();
  EXPECT_EQ(document + out, "[0,1,2]");
}

TEST(JsonWriter, KnowsWhenItIsComplete) {
  std::string out;
  JsonWriter writer(&out);
  EXPECT_FALSE(writer.is_complete());
  writer.begin_array();
  EXPECT_FALSE(writer.is_complete());
  writer.end_array();
  EXPECT_TRUE(writer.is_complete());
}

#ifndef NDEBUG
TEST(JsonWriterDeathTest, AssertsOnMisuse) {
  std::string out;
  EXPECT_DEATH(JsonWriter(&out).key("a"), "a key belongs into an object");
  EXPECT_DEATH(JsonWriter(&out).begin_array().key("a"), "a key belongs into an object");
  EXPECT_DEATH(JsonWriter(&out).begin_object().value(1), "needs a key");
  EXPECT_DEATH(JsonWriter(&out).begin_object().key("a").key("b"), "has no value yet");
  EXPECT_DEATH(JsonWriter(&out).begin_object().key("a").end_object(), "has no value");
  EXPECT_DEATH(JsonWriter(&out).begin_object().end_array(), "closed what is not open");
  EXPECT_DEATH(JsonWriter(&out).end_object(), "closed what is not open");
  EXPECT_DEATH(JsonWriter(&out).value(1).value(2), "one root");
}
#endif

RC_GTEST_PROP(JsonWriter, AnyBytesGiveValidJson, (const std::vector<std::uint8_t>& bytes)) {
  const std::string text(bytes.begin(), bytes.end());
  const std::string out = written(text);
  RC_ASSERT(nlohmann::json::accept(out));
}

RC_GTEST_PROP(JsonWriter, AsciiReadsBack, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(nlohmann::json::parse(written(text)).get<std::string>() == text);
}

RC_GTEST_PROP(JsonWriter, DoublesReadBackBitForBit, (std::uint64_t bits)) {
  const auto number = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(number));
  RC_ASSERT(std::bit_cast<std::uint64_t>(std::strtod(written(number).c_str(), nullptr)) == bits);
}

}  // namespace
}  // namespace cistern::base
