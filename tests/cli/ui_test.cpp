// The parts of the tool that draw and read: arguments and their errors, wrapped text, the progress line.
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/ui/progress.hpp"
#include "cli/ui/wrap.hpp"

namespace cistern::cli {
namespace {

// One argument of every kind.
struct AllKinds {
  bool json = false;
  std::uint64_t requests = 200;
  double share = 0.5;
  std::uint64_t cap = 4096;
  std::string device = "host";
  std::string out;
  std::vector<std::string> models;
  Arguments arguments;

  AllKinds() {
    arguments.flag("--json", &json, "as JSON");
    arguments.number("--requests", &requests, 1, 1000, "how many");
    arguments.real("--share", &share, 0, 1, "which part");
    arguments.bytes("--cap", &cap, "at most");
    arguments.choice("--device", &device, "host|simulated", "where");
    arguments.text("--out", &out, "FILE", "to where");
    arguments.positional("MODEL", &models, 1, "what to run");
    arguments.settings();
  }
  std::string refusal(const std::vector<std::string>& words) {
    const base::Status status = arguments.parse(words);
    EXPECT_EQ(status.code(), base::StatusCode::invalid_argument);
    return std::string(status.text());
  }
};

TEST(Arguments, ReadsEveryKind) {
  AllKinds all;
  const base::Status status =
      all.arguments.parse({"a.onnx", "--json", "--requests", "7", "--share=0.25", "--cap", "1.5k", "--device",
                           "SIMULATED", "b.onnx", "--out", "x y", "--policy", "first_fit"});
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_TRUE(all.json);
  EXPECT_EQ(all.requests, 7U);
  EXPECT_EQ(all.share, 0.25);
  EXPECT_EQ(all.cap, 1536U);
  EXPECT_EQ(all.device, "simulated");
  EXPECT_EQ(all.out, "x y");
  EXPECT_EQ(all.models, (std::vector<std::string>{"a.onnx", "b.onnx"}));
  base::OptionSet set;
  ASSERT_TRUE(all.arguments.apply_settings(&set).is_ok());
  EXPECT_EQ(set.text("CISTERN_POLICY"), "FIRST_FIT");
  EXPECT_EQ(set.origin("CISTERN_POLICY"), "--policy");
}

TEST(Arguments, KeepsDefaults) {
  AllKinds all;
  ASSERT_TRUE(all.arguments.parse({"a.onnx"}).is_ok());
  EXPECT_FALSE(all.json);
  EXPECT_EQ(all.requests, 200U);
  EXPECT_EQ(all.share, 0.5);
  EXPECT_EQ(all.cap, 4096U);
  EXPECT_EQ(all.device, "host");
}

TEST(Arguments, RefusesWithNameValueAndRange) {
  EXPECT_EQ(AllKinds().refusal({"m", "--requests", "0"}), "--requests is '0', out of range; valid: 1..1000");
  EXPECT_EQ(AllKinds().refusal({"m", "--requests", "many"}), "--requests is 'many', no whole number; valid: 1..1000");
  EXPECT_EQ(AllKinds().refusal({"m", "--share", "2"}), "--share is '2', out of range; valid: 0..1");
  EXPECT_EQ(AllKinds().refusal({"m", "--device", "hots"}),
            "--device is 'hots', did you mean host?; valid: host|simulated");
  EXPECT_NE(AllKinds().refusal({"m", "--cap", "8XB"}).find("--cap: '8XB' is not a number of bytes"), std::string::npos);
  EXPECT_EQ(AllKinds().refusal({"m", "--out", ""}).find("--out is '', empty"), 0U);
}

TEST(Arguments, NamesWhatIsMissingOrTooMuch) {
  EXPECT_NE(AllKinds().refusal({}).find("MODEL"), std::string::npos);
  EXPECT_EQ(AllKinds().refusal({"m", "--jsno"}), "there is no option '--jsno'; did you mean --json?");
  EXPECT_NE(AllKinds().refusal({"m", "--requests"}).find("--requests"), std::string::npos);
  EXPECT_NE(AllKinds().refusal({"m", "--requests", "1", "--requests", "2"}).find("--requests"), std::string::npos);
}

TEST(Arguments, HelpWinsOverErrors) {
  AllKinds all;
  EXPECT_TRUE(all.arguments.parse({"--help", "--nonsense"}).is_ok());
  EXPECT_TRUE(all.arguments.help_wanted());
  const std::string help = all.arguments.help("run", "Run models", {{"cistern run a.onnx", "once"}});
  EXPECT_EQ(help.find("usage: cistern run [OPTION...] MODEL...\n\nRun models.\n"), 0U) << help;
  EXPECT_NE(help.find("\n  --requests N                how many (default 200)\n"), std::string::npos) << help;
  EXPECT_NE(help.find("\n  --cap BYTES                 at most (default 4KiB)\n"), std::string::npos) << help;
  EXPECT_NE(help.find("\n  --device host|simulated     where (default host)\n"), std::string::npos) << help;
  EXPECT_NE(help.find("\n  --out FILE                  to where\n"), std::string::npos) << help;
  EXPECT_NE(help.find("\n  --limit-bytes BYTES         "), std::string::npos) << help;
}

TEST(Wrapped, KeepsLinesShort) {
  EXPECT_EQ(wrapped("", 2), "");
  EXPECT_EQ(wrapped("a  b", 2), "  a b\n");
  const std::string text = wrapped(std::string(49, 'a') + " " + std::string(50, 'b') + " c", 0);
  EXPECT_EQ(text, std::string(49, 'a') + " " + std::string(50, 'b') + "\nc\n");
  EXPECT_EQ(wrapped(std::string(150, 'x') + " y", 1), " " + std::string(150, 'x') + "\n y\n");
}

TEST(HangingLines, MovesTheTextBelowALongName) {
  EXPECT_EQ(hanging_lines("--json", "as JSON"), "  --json                      as JSON\n");
  EXPECT_EQ(hanging_lines(std::string(27, 'x'), "doc"),
            "  " + std::string(27, 'x') + "\n" + std::string(30, ' ') + "doc\n");
  EXPECT_EQ(hanging_lines("name", ""), "  name\n");
}

TEST(ProgressLine, ShowsShareAndCounts) {
  EXPECT_EQ(progress_line("replay", 0, 1000, 80), "replay  [........................................]    0 %  0/1000");
  EXPECT_EQ(progress_line("replay", 500, 1000, 80),
            "replay  [####################....................]   50 %  500/1000");
  EXPECT_EQ(progress_line("replay", 1000, 1000, 80),
            "replay  [########################################]  100 %  1000/1000");
}

TEST(ProgressLine, FitsTheTerminalAndItsTotal) {
  for (std::size_t columns = 0; columns < 100; ++columns) {
    EXPECT_LE(progress_line("replay", 123, 1000, columns).size(), columns);
  }
  EXPECT_EQ(progress_line("x", 5, 3, 80), progress_line("x", 3, 3, 80));
  EXPECT_EQ(progress_line("x", 0, 0, 80), "x  [########################################]  100 %  0/0");
}

}  // namespace
}  // namespace cistern::cli
