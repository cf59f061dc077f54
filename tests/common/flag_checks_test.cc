#include "common/flag_checks.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "gtest/gtest.h"

namespace cairn {
namespace {

TEST(FlagChecksTest, IntegersInRangeAreAccepted) {
  const FlagCheck check = WholeNumber(1, 64);
  for (const char* const good : {"1", "64", "+7"}) EXPECT_EQ(check(good), "");
  for (const std::string bad : {"0", "65", "-1", "two", "", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(check(bad), "\"" + bad + "\" is not a whole number from 1 to 64");
  }
  EXPECT_EQ(WholeNumber(1, std::numeric_limits<int64_t>::max())("9223372036854775807"), "");
}

TEST(FlagChecksTest, NumbersInRangeAreAccepted) {
  EXPECT_EQ(Number(2, 3600)("2.5"), "");
  EXPECT_EQ(Number(2, 3600)("1e9"), "\"1e9\" is not a number from 2 to 3600");
  EXPECT_EQ(Number(2, 3600)("nan"), "\"nan\" is not a number from 2 to 3600");
  EXPECT_EQ(Number()("-1e300"), "");
  EXPECT_EQ(Number()("inf"), "\"inf\" is not a finite number");
}

// CLI11's message for these arguments, rewritten by FlagErrorText.
std::string Refusal(std::vector<std::string> words) {
  CLI::App app;
  std::string state, coordinator;
  int threads = 1;
  app.add_option("--state", state)->check(NotEmpty());
  app.add_option("--coordinator", coordinator)->excludes("--state");
  app.add_option("--threads", threads)->check(WholeNumber(1, 8));
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return FlagErrorText(error.what());
  }
  return "";
}

TEST(FlagChecksTest, MessagesOfCli11AreRewritten) {
  EXPECT_EQ(Refusal({"--state"}), "--state needs a value");
  EXPECT_EQ(Refusal({"--state", "--threads", "2"}), "--state needs a value; --threads is a flag");
  EXPECT_EQ(Refusal({"--state", "a", "--state", "b"}), "--state is given 2 times; give it once");
  EXPECT_EQ(Refusal({"--state", "a", "--coordinator", "b"}),
            "--coordinator and --state exclude each other; give only one");
  EXPECT_EQ(Refusal({"--threads", "x"}), "--threads: \"x\" is not a whole number from 1 to 8");
  EXPECT_EQ(Refusal({"--state", ""}), "--state: is empty; give a value, or leave it out");
  EXPECT_EQ(Refusal({"--threads", "8"}), "");
  EXPECT_EQ(NotEmpty(/*is_required=*/true)(""), "is empty; give a value");
}

}  // namespace
}  // namespace cairn
