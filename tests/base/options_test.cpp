// The option table: what is read, what is refused and with which words, and that the table agrees with itself.
#include "base/options.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "base/units.hpp"

namespace cistern::base {
namespace {

// The environment of a process: names and values, as environ has them.
class Environment {
 public:
  Environment(std::initializer_list<const char*> entries) : entries_(entries) { entries_.push_back(nullptr); }
  const char* const* data() const { return entries_.data(); }

 private:
  std::vector<const char*> entries_;
};

OptionSet read(const Environment& environment) {
  auto set = OptionSet::from_environment(environment.data());
  EXPECT_TRUE(set.is_ok()) << set.status().to_string();
  return set.is_ok() ? set.take() : OptionSet();
}

std::string refusal(const Environment& environment) {
  auto set = OptionSet::from_environment(environment.data());
  EXPECT_FALSE(set.is_ok());
  if (set.is_ok()) return "";
  EXPECT_EQ(set.status().code(), StatusCode::invalid_argument);
  return std::string(set.status().text());
}

TEST(OptionTable, IsWellFormed) {
  std::set<std::string_view> names;
  for (const OptionSpec& spec : OptionSet::table()) {
    EXPECT_EQ(spec.name.substr(0, 8), "CISTERN_");
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name << " is there twice";
    for (const std::string_view alias : spec.aliases) {
      EXPECT_EQ(alias.substr(0, 7), "ASCEND_");
      EXPECT_TRUE(names.insert(alias).second) << alias << " is there twice";
      EXPECT_EQ(OptionSet::find(alias), &spec);
    }
    EXPECT_FALSE(spec.doc.empty()) << spec.name;
    EXPECT_EQ(spec.doc.back(), '.') << spec.name;
    EXPECT_FALSE(spec.range.empty()) << spec.name;
    if (!spec.default_value.empty()) {
      EXPECT_TRUE(read_option_value(spec, spec.name, spec.default_value).is_ok()) << spec.name;
    }
  }
}

TEST(OptionSet, HasDefaults) {
  const OptionSet set = read({});
  EXPECT_EQ(set.text("CISTERN_POLICY"), "BEST_FIT");
  EXPECT_EQ(set.text("CISTERN_GROWTH"), "EXPANDABLE");
  EXPECT_EQ(set.text("CISTERN_ON_MISS"), "STITCH_FIRST");
  EXPECT_EQ(set.bytes("CISTERN_INITIAL_BYTES"), 0U);
  EXPECT_EQ(set.bytes("CISTERN_LIMIT_BYTES"), 0U);
  EXPECT_EQ(set.bytes("CISTERN_PAGE_BYTES"), 0U);
  EXPECT_EQ(set.bytes("CISTERN_ROUND_BYTES"), 512U);
  EXPECT_EQ(set.bytes("CISTERN_GROWTH_BYTES"), 0U);
  EXPECT_EQ(set.bytes("CISTERN_MAX_GROWTH_BYTES"), kGiB);
  EXPECT_EQ(set.bytes("CISTERN_DIRECT_BYTES"), 0U);
  EXPECT_EQ(set.integer("CISTERN_LOG_LEVEL"), 2);
  EXPECT_EQ(set.text("CISTERN_ONNXRUNTIME"), "");
  EXPECT_FALSE(set.is_set("CISTERN_POLICY"));
  EXPECT_EQ(set.origin("CISTERN_POLICY"), "default");
}

TEST(OptionSet, ReadsNamesOfTheEnvironment) {
  const OptionSet set =
      read({"CISTERN_POLICY=first_fit", "CISTERN_LIMIT_BYTES=1.5g", "CISTERN_LOG_LEVEL=0", "CISTERN_PAGE_BYTES=20MiB",
            "CISTERN_ONNXRUNTIME=/opt/ort lib/libonnxruntime.so", "HOME=/", "XCISTERN_POLICY=?", "not a variable"});
  EXPECT_EQ(set.text("CISTERN_POLICY"), "FIRST_FIT");
  EXPECT_EQ(set.bytes("CISTERN_LIMIT_BYTES"), kGiB + kGiB / 2);
  EXPECT_EQ(set.integer("CISTERN_LOG_LEVEL"), 0);
  EXPECT_EQ(set.bytes("CISTERN_PAGE_BYTES"), 20 * kMiB);
  EXPECT_EQ(set.text("CISTERN_ONNXRUNTIME"), "/opt/ort lib/libonnxruntime.so");
  EXPECT_TRUE(set.is_set("CISTERN_POLICY"));
  EXPECT_EQ(set.origin("CISTERN_POLICY"), "environment: CISTERN_POLICY");
}

TEST(OptionSet, ReadsTheArticlesNames) {
  const OptionSet set =
      read({"ASCEND_MEMPOOL_POLICY=FIRST_FIT", "ASCEND_MEMORY_POOL_MAX_SIZE=8589934592", "ASCEND_GLOBAL_LOG_LEVEL=3"});
  EXPECT_EQ(set.text("CISTERN_POLICY"), "FIRST_FIT");
  EXPECT_EQ(set.bytes("CISTERN_LIMIT_BYTES"), 8 * kGiB);
  EXPECT_EQ(set.integer("CISTERN_LOG_LEVEL"), 3);
  EXPECT_EQ(set.origin("CISTERN_LIMIT_BYTES"), "environment: ASCEND_MEMORY_POOL_MAX_SIZE");
  EXPECT_TRUE(set.is_set("ASCEND_MEMPOOL_POLICY"));
}

TEST(OptionSet, DoesNotReadOtherNamesOfCann) {
  const OptionSet set = read({"ASCEND_RT_VISIBLE_DEVICES=0", "ASCEND_SLOG_PRINT_TO_STDOUT=rubbish"});
  for (const OptionSpec& spec : OptionSet::table()) EXPECT_FALSE(set.is_set(spec.name));
}

TEST(OptionSet, TakesNameAndAliasWithOneValue) {
  const OptionSet set = read({"ASCEND_MEMORY_POOL_MAX_SIZE=1073741824", "CISTERN_LIMIT_BYTES=1GiB"});
  EXPECT_EQ(set.bytes("CISTERN_LIMIT_BYTES"), kGiB);
  EXPECT_EQ(set.origin("CISTERN_LIMIT_BYTES"), "environment: CISTERN_LIMIT_BYTES");
}

TEST(OptionSet, RefusesNameAndAliasThatDiffer) {
  EXPECT_EQ(
      refusal({"ASCEND_MEMPOOL_POLICY=FIRST_FIT", "CISTERN_POLICY=BEST_FIT"}),
      "environment: CISTERN_POLICY and ASCEND_MEMPOOL_POLICY are one option but have different values, 'BEST_FIT' "
      "and 'FIRST_FIT'; unset one; valid: BEST_FIT|FIRST_FIT|EXACT_BEST_FIT");
}

TEST(OptionSet, RefusesUnknownNames) {
  EXPECT_EQ(
      refusal({"CISTERN_POLCY=BEST_FIT"}),
      "environment: there is no option 'CISTERN_POLCY'; did you mean CISTERN_POLICY? `cistern options` lists all");
  EXPECT_EQ(refusal({"CISTERN_=1"}), "environment: there is no option 'CISTERN_'; `cistern options` lists all");
  EXPECT_EQ(refusal({"CISTERN_COFFEE_MACHINE=on"}),
            "environment: there is no option 'CISTERN_COFFEE_MACHINE'; `cistern options` lists all");
}

TEST(OptionSet, RefusesBadValuesWithNameValueAndRange) {
  EXPECT_EQ(refusal({"CISTERN_POLICY=FASTEST"}),
            "environment: CISTERN_POLICY is 'FASTEST'; valid: BEST_FIT|FIRST_FIT|EXACT_BEST_FIT");
  EXPECT_EQ(
      refusal({"CISTERN_POLICY=BESTFIT"}),
      "environment: CISTERN_POLICY is 'BESTFIT', did you mean BEST_FIT?; valid: BEST_FIT|FIRST_FIT|EXACT_BEST_FIT");
  EXPECT_EQ(refusal({"CISTERN_POLICY="}),
            "environment: CISTERN_POLICY is '', empty: unset it to have the default; valid: "
            "BEST_FIT|FIRST_FIT|EXACT_BEST_FIT");
  EXPECT_EQ(refusal({"CISTERN_PAGE_BYTES=32KiB"}),
            "environment: CISTERN_PAGE_BYTES is '32KiB', out of range; valid: 0 or 64KiB..1GiB");
  EXPECT_EQ(refusal({"CISTERN_ROUND_BYTES=1000"}),
            "environment: CISTERN_ROUND_BYTES is '1000', no power of two; valid: a power of two, 512..2MiB");
  EXPECT_EQ(refusal({"CISTERN_ROUND_BYTES=0"}),
            "environment: CISTERN_ROUND_BYTES is '0', out of range; valid: a power of two, 512..2MiB");
  for (const char* entry :
       {"CISTERN_LIMIT_BYTES=-1", "CISTERN_LIMIT_BYTES=18446744073709551616", "CISTERN_LIMIT_BYTES=17TiB",
        "CISTERN_LIMIT_BYTES=lots", "CISTERN_LIMIT_BYTES= ", "ASCEND_MEMORY_POOL_MAX_SIZE=8 gigabytes"}) {
    const std::string text = refusal({entry});
    const std::string_view name = std::string_view(entry).substr(0, std::string_view(entry).find('='));
    const std::string_view value = std::string_view(entry).substr(name.size() + 1);
    EXPECT_NE(text.find(name), std::string::npos) << text;
    EXPECT_NE(text.find("'" + std::string(value) + "'"), std::string::npos) << text;
    EXPECT_NE(text.find("valid: 0..16TiB"), std::string::npos) << text;
  }
}

// The alias is CANN's own variable, too: a value that CANN may take and we do not must be named, not swallowed.
TEST(OptionSet, RefusesLogLevelsOutOfRange) {
  EXPECT_EQ(refusal({"ASCEND_GLOBAL_LOG_LEVEL=5"}),
            "environment: ASCEND_GLOBAL_LOG_LEVEL is '5', out of range; valid: 0..4");
  EXPECT_EQ(refusal({"ASCEND_GLOBAL_LOG_LEVEL=-1"}),
            "environment: ASCEND_GLOBAL_LOG_LEVEL is '-1', out of range; valid: 0..4");
  EXPECT_EQ(refusal({"ASCEND_GLOBAL_LOG_LEVEL=debug"}),
            "environment: ASCEND_GLOBAL_LOG_LEVEL is 'debug', no whole number; valid: 0..4");
  EXPECT_EQ(refusal({"ASCEND_GLOBAL_LOG_LEVEL=99999999999999999999"}),
            "environment: ASCEND_GLOBAL_LOG_LEVEL is '99999999999999999999', no whole number; valid: 0..4");
}

TEST(OptionSet, ReadsTheFirstOfTwoEntriesLikeGetenv) {
  EXPECT_EQ(read({"CISTERN_LOG_LEVEL=1", "CISTERN_LOG_LEVEL=4"}).integer("CISTERN_LOG_LEVEL"), 1);
}

TEST(OptionSet, SetReplacesAndNamesItsOrigin) {
  OptionSet set = read({"CISTERN_POLICY=FIRST_FIT"});
  EXPECT_TRUE(set.set("ASCEND_MEMPOOL_POLICY", "best_fit", "--policy").is_ok());
  EXPECT_EQ(set.text("CISTERN_POLICY"), "BEST_FIT");
  EXPECT_EQ(set.origin("CISTERN_POLICY"), "--policy");
  const Status refused = set.set("CISTERN_POLICY", "worst", "--policy");
  EXPECT_EQ(refused.text(), "--policy: CISTERN_POLICY is 'worst'; valid: BEST_FIT|FIRST_FIT|EXACT_BEST_FIT");
  EXPECT_EQ(set.text("CISTERN_POLICY"), "BEST_FIT");  // a refused value changes nothing
  EXPECT_FALSE(set.set("CISTERN_NOTHING", "1", "--nothing").is_ok());
}

// Types that no option of the table has today are read all the same.
TEST(ReadOptionValue, ReadsFlags) {
  const OptionSpec spec{
      .name = "X", .type = OptionType::flag, .range = "ON|OFF", .default_value = "", .doc = "", .aliases = {}};
  for (const char* yes : {"ON", "on", "1", "true", "Yes"}) EXPECT_EQ(read_option_value(spec, "X", yes).value(), "ON");
  for (const char* no : {"OFF", "off", "0", "false", "No"}) EXPECT_EQ(read_option_value(spec, "X", no).value(), "OFF");
  EXPECT_EQ(read_option_value(spec, "X", "2").status().text(), "X is '2', neither ON nor OFF; valid: ON|OFF");
}

TEST(ReadOptionValue, ReadsReals) {
  const OptionSpec spec{.name = "X",
                        .type = OptionType::real,
                        .range = "0..1",
                        .default_value = "",
                        .doc = "",
                        .aliases = {},
                        .min_value = 0,
                        .max_value = 1};
  EXPECT_EQ(read_option_value(spec, "X", "0.30").value(), "0.3");
  EXPECT_EQ(read_option_value(spec, "X", " 1 ").value(), "1");
  for (const char* bad : {"nan", "inf", "1.01", "-0.1"}) {
    EXPECT_NE(read_option_value(spec, "X", bad).status().text().find("out of range; valid: 0..1"),
              std::string_view::npos)
        << bad;
  }
  EXPECT_EQ(read_option_value(spec, "X", "0,3").status().text(), "X is '0,3', no number; valid: 0..1");
}

RC_GTEST_PROP(OptionSet, BytesInRangeReadBack, ()) {
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 16 * kTiB + 1);
  OptionSet set;
  RC_ASSERT(set.set("CISTERN_LIMIT_BYTES", std::to_string(bytes), "test").is_ok());
  RC_ASSERT(set.bytes("CISTERN_LIMIT_BYTES") == bytes);
}

RC_GTEST_PROP(OptionSet, BytesOutOfRangeAreRefused, ()) {
  const auto bytes = *rc::gen::inRange<std::uint64_t>(16 * kTiB + 1, std::numeric_limits<std::uint64_t>::max());
  OptionSet set;
  RC_ASSERT(!set.set("CISTERN_LIMIT_BYTES", std::to_string(bytes), "test").is_ok());
  RC_ASSERT(!set.is_set("CISTERN_LIMIT_BYTES"));
}

RC_GTEST_PROP(OptionSet, CanonicalValuesReadBackAsThemselves, (const std::string& text)) {
  for (const OptionSpec& spec : OptionSet::table()) {
    OptionSet first;
    if (!first.set(spec.name, text, "test").is_ok()) continue;
    OptionSet second;
    RC_ASSERT(second.set(spec.name, first.value_text(spec.name), "test").is_ok());
    RC_ASSERT(second.value_text(spec.name) == first.value_text(spec.name));
  }
}

}  // namespace
}  // namespace cistern::base
