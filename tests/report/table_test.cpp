// Tables for people: alignment in terminal columns, and Markdown that stays a table.
#include "report/table.hpp"

#include <gtest/gtest.h>

namespace cistern::report {
namespace {

TEST(Table, AlignsNamesLeftAndNumbersRight) {
  Table table({{"name", Align::left}, {"bytes", Align::right}});
  table.add_row({"weights", "14000000000"});
  table.add_row({"kv", "512"});
  EXPECT_EQ(table.text(),
            "name           bytes\n"
            "-------  -----------\n"
            "weights  14000000000\n"
            "kv               512\n");
  EXPECT_EQ(table.row_count(), 2U);
}

TEST(Table, CountsTerminalColumnsNotBytes) {
  Table table({{"tag", Align::left}, {"n", Align::right}});
  table.add_row({"\xe7\xa2\x8e\xe7\x89\x87", "1"});  // two wide characters, six bytes
  table.add_row({"\xc2\xb5s", "2"});                 // two narrow ones, three bytes
  table.add_row({"abcd", "3"});
  EXPECT_EQ(table.text(),
            "tag   n\n"
            "----  -\n"
            "\xe7\xa2\x8e\xe7\x89\x87  1\n"
            "\xc2\xb5s    2\n"
            "abcd  3\n");
}

TEST(Table, LeavesNoSpacesAtLineEnds) {
  Table table({{"a", Align::left}, {"long title", Align::left}});
  table.add_row({"x"});
  table.add_row({"x", "y"});
  EXPECT_EQ(table.text(), "a  long title\n-  ----------\nx\nx  y\n");
}

TEST(Table, KeepsARowOnOneLine) {
  Table table({{"a", Align::left}});
  table.add_row({"one\ntwo\tthree\r"});
  EXPECT_EQ(table.text(), "a\n--------------\none two three\n");
  EXPECT_EQ(table.markdown(), "| a |\n| --- |\n| one two three  |\n");
}

TEST(Table, WithoutRowsIsTitlesAndRule) {
  EXPECT_EQ(Table({{"a", Align::left}, {"b", Align::right}}).text(), "a  b\n-  -\n");
}

TEST(Table, WritesMarkdown) {
  Table table({{"range", Align::left}, {"n", Align::right}});
  table.add_row({"ON|OFF", "1"});
  table.add_row({"", "2"});
  EXPECT_EQ(table.markdown(), "| range | n |\n| --- | ---: |\n| ON\\|OFF | 1 |\n| | 2 |\n");
}

}  // namespace
}  // namespace cistern::report
