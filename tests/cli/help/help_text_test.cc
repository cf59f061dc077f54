#include "cli/help/help_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

Command Example() {
  Command command;
  command.name = "fetch";
  command.description = "Fetch a thing";
  command.details = "First paragraph.\n\nSecond paragraph.";
  command.examples = {"cairn fetch stick", "cairn fetch stick --from far"};
  command.add_flags = [](FlagSet* set) {
    static std::string text;
    static std::vector<std::string> texts;
    static bool is_on = false;
    static int count = 0;
    set->AddArgument("THING", &text, /*is_required=*/true, "What to fetch");
    set->AddArgument("ELSE", &text, /*is_required=*/false, "What else");
    set->AddRequiredStrings("--from PLACE", &texts, "Where it is");
    set->AddCount("--times", &count, 9, "How often [1]");
    set->AddBool("--json", &is_on, "Print JSON");
    set->Exclude("--times", "--json");
  };
  return command;
}

TEST(HelpTextTest, HelpHasAllThatTheCommandTakes) {
  EXPECT_EQ(HelpText(Example()),
            "Usage: cairn fetch THING [ELSE] --from PLACE... [flags]\n\n"
            "Fetch a thing.\n\n"
            "First paragraph.\n\n"
            "Second paragraph.\n\n"
            "Arguments:\n"
            "  THING                   What to fetch\n"
            "  ELSE                    What else\n\n"
            "Flags:\n"
            "  --from PLACE            Where it is (required)\n"
            "  --times N               How often [1]\n"
            "  --json                  Print JSON\n"
            "  --help                  Show this text\n\n"
            "Examples:\n"
            "  cairn fetch stick\n"
            "  cairn fetch stick --from far\n");
}

TEST(HelpTextTest, LongTextsAreBrokenAndStayInTheirColumn) {
  Command command = Example();
  command.add_flags = [](FlagSet* set) {
    static std::string text;
    set->AddString("--a-flag-with-a-long-name VALUE", &text,
                   "words words words words words words words words words words words");
  };
  EXPECT_THAT(HelpText(command),
              HasSubstr("  --a-flag-with-a-long-name VALUE\n"
                        "                          words words words words words words words words "
                        "words words\n"
                        "                          words\n"));
}

TEST(HelpTextTest, TheOverviewHasEveryGroupTheExitCodesAndWhatJsonIs) {
  const std::string text = OverviewText({{"Fetching", {Example()}}});
  EXPECT_THAT(text, HasSubstr("\nFetching:\n  fetch         Fetch a thing\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "Exit codes: 0 success, 1 job failed, was cancelled or ended with a loss that is not"));
  EXPECT_THAT(text, HasSubstr("finite, 2 bad usage or input, 3 cannot reach the cluster, "));
  EXPECT_THAT(text, HasSubstr("\nWith --json, commands print JSON, one object per line. "));
}

}  // namespace
}  // namespace cairn::cli
