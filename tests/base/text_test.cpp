// Text for people and in terminals: quoting it, guessing what was meant, reading and measuring UTF-8.
#include "base/text.hpp"

#include <gtest/gtest.h>

#include "base/utf8.hpp"

namespace cistern::base {
namespace {

TEST(Trim, TakesSpacesAndTabsFromBothEnds) {
  EXPECT_EQ(trim("  a b\t"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(ToUpper, ChangesAsciiLettersOnly) { EXPECT_EQ(to_upper("best_Fit9\xc3\xa9"), "BEST_FIT9\xc3\xa9"); }

TEST(InQuotes, IsOneShortPrintableLine) {
  EXPECT_EQ(in_quotes("8GiB"), "'8GiB'");
  EXPECT_EQ(in_quotes("a\nb\x1b[31m\xff"), "'a\\x0ab\\x1b[31m\\xff'");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(80, 'x') + "...'");
  EXPECT_EQ(in_quotes(std::string(80, 'x')), "'" + std::string(80, 'x') + "'");
}

TEST(Closest, FindsSlipsOfTheFingers) {
  const std::vector<std::string_view> verbs = {"options", "run", "scenario", "replay"};
  EXPECT_EQ(closest("optoins", verbs), "options");  // swapped
  EXPECT_EQ(closest("option", verbs), "options");   // missing
  EXPECT_EQ(closest("rum", verbs), "run");          // replaced
  EXPECT_EQ(closest("runn", verbs), "run");         // too many
  EXPECT_EQ(closest("SCENARIO", verbs), "scenario");
}

TEST(Closest, DoesNotGuessWhatIsFar) {
  const std::vector<std::string_view> verbs = {"options", "run"};
  EXPECT_EQ(closest("benchmark", verbs), "");
  EXPECT_EQ(closest("", verbs), "");
  EXPECT_EQ(closest("ab", verbs), "");
  EXPECT_EQ(closest(std::string(100000, 'o'), verbs), "");
  EXPECT_EQ(closest("run", {}), "");
}

TEST(Closest, PrefersTheFirstAmongEquals) {
  EXPECT_EQ(closest("replax", {"replay", "replaz"}), "replay");
  EXPECT_EQ(closest("replay", {"replaz", "replay"}), "replay");
}

TEST(FirstCharacter, ReadsWellFormedText) {
  EXPECT_EQ(first_character("a").code, U'a');
  EXPECT_EQ(first_character("\xc3\xa9").code, U'\u00e9');
  EXPECT_EQ(first_character("\xe7\xa2\x8e").code, U'\u788e');
  EXPECT_EQ(first_character("\xf0\x9f\x92\xa7").code, U'\U0001f4a7');
  EXPECT_EQ(first_character("\xf4\x8f\xbf\xbf").code, U'\U0010ffff');
  EXPECT_EQ(first_character("\xed\x9f\xbf").code, U'\ud7ff');
}

TEST(FirstCharacter, FindsIllFormedParts) {
  struct Case {
    std::string_view text;
    std::size_t bytes;
  };
  for (const Case& c : {Case{"\x80", 1}, Case{"\xc0\xaf", 1}, Case{"\xe0\x9f\x80", 1}, Case{"\xed\xa0\x80", 1},
                        Case{"\xf4\x90\x80\x80", 1}, Case{"\xf5", 1}, Case{"\xff", 1}, Case{"\xc3", 1},
                        Case{"\xe7\xa2", 2}, Case{"\xe7\xa2q", 2}, Case{"\xf0\x9f\x92", 3}}) {
    const Utf8Character character = first_character(c.text);
    EXPECT_FALSE(character.is_valid) << c.text;
    EXPECT_EQ(character.bytes, c.bytes) << c.text;
    EXPECT_EQ(character.code, U'\ufffd');
  }
}

TEST(DisplayWidth, CountsTerminalColumns) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("weights"), 7U);
  EXPECT_EQ(display_width("\xc2\xb5s"), 2U);                 // micro sign
  EXPECT_EQ(display_width("\xe7\xa2\x8e\xe7\x89\x87"), 4U);  // two Han characters
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);                 // e and a combining accent
  EXPECT_EQ(display_width("\xf0\x9f\x92\xa7"), 2U);          // an emoji
  EXPECT_EQ(display_width("a\xff"
                          "b"),
            3U);  // a byte that is no UTF-8
}

}  // namespace
}  // namespace cistern::base
