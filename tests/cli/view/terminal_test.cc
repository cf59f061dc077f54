#include "cli/view/terminal.h"

#include <pty.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// A pseudo terminal of 5 rows and 10 columns, with the side of its user.
class TerminalTest : public testing::Test {
 protected:
  TerminalTest() {
    winsize size = {5, 10, 0, 0};
    EXPECT_EQ(openpty(&person_, &terminal_, nullptr, nullptr, &size), 0);
    // No translation of what is written.
    termios mode{};
    tcgetattr(terminal_, &mode);
    mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    tcsetattr(terminal_, TCSANOW, &mode);
  }
  ~TerminalTest() override {
    if (person_ >= 0) close(person_);
    close(terminal_);
  }

  // The bytes that were written to the terminal since the last call.
  std::string Shown() {
    char text[4096];
    const ssize_t count = read(person_, text, sizeof(text));
    return std::string(text, count > 0 ? static_cast<size_t>(count) : 0);
  }
  bool Echoes() const {
    termios mode{};
    tcgetattr(terminal_, &mode);
    return (mode.c_lflag & ECHO) != 0;
  }

  int person_ = -1;
  int terminal_ = -1;
};

TEST_F(TerminalTest, SizeIsTheTerminals) {
  EXPECT_EQ(SizeOfTerminal(terminal_).rows, 5);
  EXPECT_EQ(SizeOfTerminal(terminal_).columns, 10);
  EXPECT_EQ(SizeOfTerminal(-1).columns, 80);
}

TEST_F(TerminalTest, RestoresTheScreenAtTheEnd) {
  {
    Terminal screen(terminal_, terminal_);
    EXPECT_FALSE(Echoes());
    EXPECT_THAT(Shown(), HasSubstr("\x1b[?1049h"));
  }
  EXPECT_TRUE(Echoes());
  EXPECT_THAT(Shown(), EndsWith("\x1b[?1049l"));
}

TEST_F(TerminalTest, LinesAreCutToTheScreen) {
  Terminal screen(terminal_, terminal_);
  Shown();
  screen.Show({"0123456789cut", "b", "c", "d", "e", "f"});
  const std::string shown = Shown();
  EXPECT_THAT(shown, HasSubstr("0123456789\x1b[K\r\n"));
  EXPECT_THAT(shown, EndsWith("e\x1b[K\x1b[J"));
  EXPECT_THAT(shown, Not(HasSubstr("cut")));
}

TEST_F(TerminalTest, KeysArriveAtOnceAndCtrlCIsOne) {
  Terminal screen(terminal_, terminal_);
  EXPECT_FALSE(screen.WaitForKey(absl::Milliseconds(1)));
  ASSERT_EQ(write(person_, "q\3", 2), 2);
  EXPECT_EQ(screen.WaitForKey(absl::Seconds(10)), 'q');
  EXPECT_EQ(screen.WaitForKey(absl::Seconds(10)), '\3');
}

TEST_F(TerminalTest, ATerminalThatIsGoneIsAsGoodAsCtrlC) {
  Terminal screen(terminal_, terminal_);
  close(person_);
  person_ = -1;
  EXPECT_EQ(screen.WaitForKey(absl::Seconds(10)), '\3');
}

}  // namespace
}  // namespace cairn::cli
