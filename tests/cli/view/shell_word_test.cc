#include "cli/view/shell_word.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

// The word as a shell reads it.
std::string Unquoted(const std::string& word) {
  const std::string file = testing::TempDir() + "/shell_word_test";
  const std::string command = "printf %s " + word + " > " + file;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(ShellWordTest, PlainWordsStayAsTheyAre) {
  EXPECT_EQ(ShellWord("my-run/job_1.json"), "my-run/job_1.json");
  EXPECT_EQ(ShellWord("10.0.0.1:4000"), "10.0.0.1:4000");
}

TEST(ShellWordTest, AShellTakesEveryTextForOneWord) {
  for (const std::string text :
       {"my run", "it's", "a\"b", "$HOME", "~", "a;b", "*", "[::1]:4", "back\\slash", "a\nb"}) {
    EXPECT_EQ(Unquoted(ShellWord(text)), text);
  }
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace cairn::cli
