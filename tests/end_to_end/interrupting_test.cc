// Ctrl-C during a command that watches a job: the command exits with 130 and restores the terminal,
// and the job continues.

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using std::chrono::seconds;

// A pseudoterminal and the user's side of it.
class Pty {
 public:
  Pty() {
    char name[64];
    winsize size = {24, 80, 0, 0};
    EXPECT_EQ(openpty(&person_, &terminal_, name, nullptr, &size), 0);
    EXPECT_EQ(fcntl(person_, F_SETFL, O_NONBLOCK), 0);
    name_ = name;
    before_ = Mode();
  }
  ~Pty() {
    close(person_);
    close(terminal_);
  }

  const std::string& name() const { return name_; }
  void Type(char key) { EXPECT_EQ(write(person_, &key, 1), 1); }

  // All output written to the terminal.
  const std::string& Shown() {
    char text[4096];
    for (ssize_t count; (count = read(person_, text, sizeof(text))) > 0;)
      shown_.append(text, count);
    return shown_;
  }

  bool IsAsItWas() const {
    const termios now = Mode();
    return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
           now.c_oflag == before_.c_oflag && memcmp(now.c_cc, before_.c_cc, sizeof now.c_cc) == 0;
  }

 private:
  termios Mode() const {
    termios mode{};
    EXPECT_EQ(tcgetattr(terminal_, &mode), 0);
    return mode;
  }

  int person_ = -1;
  int terminal_ = -1;
  std::string name_;
  std::string shown_;
  termios before_{};
};

class Interrupting : public ::testing::Test {
 protected:
  void SetUp() override { cluster_.StartAll(); }

  Process::Options Command(std::vector<std::string> arguments) {
    Process::Options options;
    options.arguments = {ProgramPath("cli/cairn")};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.arguments.insert(options.arguments.end(),
                             {"--coordinator", cluster_.coordinator_address()});
    options.output_file = cluster_.folder("out");
    options.error_file = cluster_.folder("err");
    return options;
  }

  // Starts `cairn top` on the terminal and waits until it shows the cluster.
  Process Top(Pty* pty) {
    Process::Options options = Command({"top", "--interval", "3600"});
    options.input_file = options.output_file = options.error_file = pty->name();
    options.environment = {{"TERM", "xterm"}};
    Process top(options);
    EXPECT_TRUE(WaitUntil(seconds(60), [&] {
      return pty->Shown().find("coordinator  live") != std::string::npos || !top.running();
    })) << pty->Shown();
    EXPECT_FALSE(pty->IsAsItWas()) << pty->Shown();
    return top;
  }

  void ExpectEnd(Process* top, int exit_code, Pty* pty) {
    EXPECT_EQ(top->Wait(seconds(60)), exit_code);
    EXPECT_TRUE(pty->IsAsItWas());
    const std::string leave = "\x1b[?25h\x1b[?1049l";
    EXPECT_NE(pty->Shown().find(leave), std::string::npos) << "the other screen stays";
  }

  TestCluster cluster_{1, 1};
};

TEST_F(Interrupting, TopLeavesTheTerminalAsItWas) {
  {
    Pty pty;
    Process top = Top(&pty);
    pty.Type('\3');
    ExpectEnd(&top, 130, &pty);
  }
  {
    Pty pty;
    Process top = Top(&pty);
    top.Signal(SIGINT);
    ExpectEnd(&top, 130, &pty);
  }
  {
    Pty pty;
    Process top = Top(&pty);
    top.Signal(SIGTERM);
    ExpectEnd(&top, 143, &pty);
  }
  Pty pty;
  Process top = Top(&pty);
  pty.Type('q');
  ExpectEnd(&top, 0, &pty);
}

TEST_F(Interrupting, CtrlCOnFollowDetachesAndTheJobContinues) {
  CountingJob job;
  job.rows = 8;
  job.batches_per_epoch = 50;
  job.batches = 50'000'000;  // Until it is cancelled.
  Process follow(
      Command({"submit", WriteCountingJob(job, cluster_.folder("job")), "--follow", "--json"}));
  // The first line says that the job was accepted; progress follows on the second at the earliest.
  ASSERT_TRUE(WaitUntil(
      seconds(60),
      [&] { return ReadFile(cluster_.folder("out")).find("\"running\"") != std::string::npos; }))
      << ReadFile(cluster_.folder("out")) << ReadFile(cluster_.folder("err"));
  follow.Signal(SIGINT);
  EXPECT_EQ(follow.Wait(seconds(60)), 130);
  const std::string errors = ReadFile(cluster_.folder("err"));
  EXPECT_NE(
      errors.find(
          "detached; the job continues while its cluster runs. To follow it again: cairn follow"),
      std::string::npos)
      << errors;
  EXPECT_EQ(cluster_.Status("count")["state"], "running");
  EXPECT_EQ(cluster_.Cairn({"cancel", "count"}).exit_code, 0);
}

}  // namespace
}  // namespace cairn::testing
