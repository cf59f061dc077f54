#include "cli/help/completion.h"

#include <cstdlib>
#include <fstream>

#include "cli/commands/flag_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

std::vector<CommandGroup> Example() {
  Command command;
  command.description = "Fetch somebody's thing";
  command.examples = {"cairn fetch"};
  command.add_flags = [](FlagSet* set) {
    static std::string text;
    set->AddArgument("THING", &text, /*is_required=*/true, "What to fetch");
    set->AddString("--from PLACE", &text, "Where: here or there [here]");
  };
  Command other = command;
  command.name = "fetch";
  other.name = "follow";
  return {{"Fetching", {command, other}}};
}

// The words that bash offers for the last word of a command line.
std::string BashOffers(const std::string& words, int last) {
  const std::string script = testing::TempDir() + "/completion.bash";
  const std::string output = testing::TempDir() + "/completion.out";
  std::ofstream(script) << *CompletionScript("bash", Example()) << "COMP_WORDS=(" << words
                        << ")\nCOMP_CWORD=" << last << "\n_cairn\necho ${COMPREPLY[@]} > " << output
                        << "\n";
  EXPECT_EQ(std::system(("bash " + script).c_str()), 0);
  std::ifstream stream(output);
  std::string offers;
  std::getline(stream, offers);
  return offers;
}

TEST(CompletionTest, BashOffersCommandsAndThenTheirFlags) {
  EXPECT_EQ(BashOffers("cairn f", 1), "fetch follow");
  EXPECT_EQ(BashOffers("cairn fe", 1), "fetch");
  EXPECT_EQ(BashOffers("cairn fetch --", 2), "--from --help");
  EXPECT_EQ(BashOffers("cairn fetch x --f", 3), "--from");
  EXPECT_EQ(BashOffers("cairn fetch x", 2), "") << "a file's name, which bash knows";
}

TEST(CompletionTest, ZshAndFishHaveTheTextsWithoutTheirOwnSigns) {
  const std::string zsh = *CompletionScript("zsh", Example());
  EXPECT_THAT(zsh, HasSubstr(R"('fetch:Fetch somebody'\''s thing')"));
  EXPECT_THAT(zsh, HasSubstr("'--from[Where, here or there (here)]:PLACE:_files'"));
  const std::string fish = *CompletionScript("fish", Example());
  EXPECT_THAT(fish, HasSubstr(R"(-a fetch -d 'Fetch somebody'\''s thing')"));
  EXPECT_THAT(fish, HasSubstr("-l from -r -d 'Where: here or there [here]'"));
}

TEST(CompletionTest, AnUnknownShellIsRefused) {
  EXPECT_THAT(std::string(CompletionScript("bahs", Example()).status().message()),
              HasSubstr("available: bash, zsh, fish (did you mean bash?)"));
}

}  // namespace
}  // namespace cairn::cli
