#include "cli/help/man_page.h"

#include "cli/commands/flag_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Command Example() {
  Command command;
  command.name = "fetch";
  command.description = "Fetch a thing";
  command.details = ".hidden files too.\n\n'quoted' and C:\\ too.";
  command.examples = {"cairn fetch --from far", ".first"};
  command.add_flags = [](FlagSet* set) {
    static std::string text;
    set->AddRequiredString("--from PLACE", &text, "Where it is");
  };
  return command;
}

TEST(ManPageTest, ThePageHasItsSectionsInOrder) {
  const std::string page = ManPage(Example());
  EXPECT_THAT(page, StartsWith(".TH CAIRN-FETCH 1 "));
  size_t at = 0;
  for (const char* section :
       {".SH NAME\ncairn\\-fetch \\- Fetch a thing\n", ".SH SYNOPSIS\ncairn fetch",
        ".SH DESCRIPTION\n", ".SH OPTIONS\n", "\\fB\\-\\-from\\fR \\fIPLACE\\fR\n",
        ".SH EXAMPLES\n.nf\ncairn fetch \\-\\-from far\n", ".SH EXIT STATUS\n"}) {
    const size_t found = page.find(section, at);
    ASSERT_NE(found, std::string::npos) << section << " in " << page;
    at = found;
  }
}

TEST(ManPageTest, TextIsNeverTakenForRequests) {
  const std::string page = ManPage(Example());
  EXPECT_THAT(page, AllOf(HasSubstr("\n\\&.hidden"), HasSubstr("\n\\&'quoted'"),
                          HasSubstr("C:\\e too"), HasSubstr("\n\\&.first")));
  EXPECT_THAT(page, Not(HasSubstr("\n.hidden")));
}

TEST(ManPageTest, TheOverviewNamesEveryPage) {
  EXPECT_THAT(ManOverview({{"Fetching", {Example()}}}),
              AllOf(HasSubstr(".SH FETCHING\n"), HasSubstr(".BR cairn\\-fetch (1)\n")));
}

}  // namespace
}  // namespace cairn::cli
