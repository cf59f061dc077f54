// A cluster that outlives the command: `cairn up`, commands on the cluster, and `cairn down`.

#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

class UpDown : public ::testing::Test {
 protected:
  ~UpDown() override { Cairn({"down", "--now"}); }

  // Runs as a separate user, who does not name the state directory again after `up`.
  CommandResult Cairn(const std::vector<std::string>& arguments, seconds timeout = seconds(120)) {
    return RunCairn(arguments, timeout, {{"XDG_STATE_HOME", folder_.path("user")}});
  }
  CommandResult Up(std::vector<std::string> flags = {}) {
    std::vector<std::string> arguments = {"up", "--state", state()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Cairn(arguments);
  }
  std::string state() const { return folder_.path("state"); }

  // 0: it does not run.
  int64_t PidOf(const std::string& role, int index) {
    for (const json& member : Cairn({"cluster", "--json"}).lines()) {
      if (member.value("role", "") == role && member.value("index", -1) == index) {
        return member.value("live", false) ? member.value("pid", int64_t{0}) : 0;
      }
    }
    return 0;
  }
  int64_t BatchesDone() {
    const auto lines = Cairn({"status", "count", "--json"}).lines();
    return lines.empty() ? 0 : lines.back().value("batches_done", int64_t{0});
  }

  TemporaryFolder folder_;
};

bool IsAlive(int64_t pid) { return kill(static_cast<pid_t>(pid), 0) == 0; }

TEST_F(UpDown, AClusterStaysTakesJobsAndLeavesWhatItDidToBeRead) {
  const CommandResult up = Up({"--ps", "2", "--workers", "2"});
  ASSERT_EQ(up.exit_code, 0) << up.output << up.errors;
  EXPECT_THAT(up.output, HasSubstr("started 1 coordinator, 2 ps, 2 workers"));
  const std::vector<int64_t> pids = {PidOf("coordinator", 0), PidOf("ps", 1), PidOf("worker", 1)};
  for (const int64_t pid : pids) EXPECT_GT(pid, 0);

  CountingJob job;
  job.batches = 300;
  job.batches_per_epoch = 100;
  const std::string file = WriteCountingJob(job, folder_.path("job"));
  const CommandResult submitted = Cairn({"submit", file, "--follow"});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.output << submitted.errors;
  EXPECT_THAT(Cairn({"logs", "coordinator"}).output, HasSubstr("job over"));

  const CommandResult down = Cairn({"down"});
  EXPECT_EQ(down.exit_code, 0) << down.output << down.errors;
  for (const int64_t pid : pids) EXPECT_FALSE(IsAlive(pid));
  EXPECT_EQ(Cairn({"jobs", "--json"}).lines().at(0).at("state"), "finished");
  EXPECT_EQ(Cairn({"export", "count", "--output", folder_.path("model")}).exit_code, 0);
  EXPECT_EQ(CountIsNot(job.batches, folder_.path("model"), job.rows), "");
}

// A job of workers that hold the parameters goes on with ps, and back.
TEST_F(UpDown, TheNextClusterMayHaveOtherTasks) {
  CountingJob job;
  job.strategy = R"({"multi_worker_mirrored": {"batches_per_update": 4}})";
  job.batches_per_epoch = 400;
  job.batches = 60 * job.batches_per_epoch;
  job.distinct = true;
  job.batches_per_update = 4;
  job.checkpoint_every = 200;
  int64_t done = 0;
  for (const auto& [ps, workers] :
       {std::pair("0", "3"), std::pair("2", "1"), std::pair("0", "2")}) {
    const CommandResult up = Up({"--ps", ps, "--workers", workers});
    ASSERT_EQ(up.exit_code, 0) << up.output << up.errors;
    if (done == 0) {
      const CommandResult submitted = Cairn({"submit", WriteCountingJob(job, folder_.path("job"))});
      ASSERT_EQ(submitted.exit_code, 0) << submitted.output << submitted.errors;
    }
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() >= done + 300; }));
    const CommandResult down = Cairn({"down"});
    EXPECT_EQ(down.exit_code, 0) << down.output << down.errors;
    done = BatchesDone();
    EXPECT_LT(done, job.batches) << "it must go on in the next cluster";
  }
  ASSERT_EQ(Up().exit_code, 0);
  ASSERT_EQ(Cairn({"follow", "count"}).exit_code, 0);
  EXPECT_EQ(Cairn({"status", "count", "--json"}).lines().back().value("rollbacks", -1), 0);
  EXPECT_EQ(Cairn({"export", "count", "--output", folder_.path("model")}).exit_code, 0);
  EXPECT_EQ(SumIsNot(job, folder_.path("model")), "");
}

TEST_F(UpDown, ASecondUpSaysSoAndAnotherShapeIsRefused) {
  ASSERT_EQ(Up({"--ps", "1", "--workers", "1"}).exit_code, 0);
  const int64_t pid = PidOf("worker", 0);
  const CommandResult again = Up({"--json"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_EQ(again.lines().at(0).at("was_up"), true);
  EXPECT_EQ(PidOf("worker", 0), pid);
  const CommandResult other = Up({"--workers", "3"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("stop it first with cairn down"));
  const std::string job = WriteCountingJob({}, folder_.path("job"));
  const CommandResult run = Cairn({"run", job, "--state", state()});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.errors, HasSubstr("cairn submit JOB.json --follow"));
}

TEST_F(UpDown, DaemonsThatDieComeBackAndDownKeepsTheJobForTheNextUp) {
  ASSERT_EQ(Up().exit_code, 0);
  const CountingJob job = EndlessCountingJob();
  const std::string file = WriteCountingJob(job, folder_.path("job"));
  ASSERT_EQ(Cairn({"submit", file}).exit_code, 0);
  for (const char* role : {"worker", "ps", "coordinator"}) {
    int64_t pid = 0;
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return (pid = PidOf(role, 0)) > 0; })) << role;
    ASSERT_EQ(kill(static_cast<pid_t>(pid), SIGKILL), 0);
    EXPECT_TRUE(WaitUntil(seconds(60), [&] {
      const int64_t now = PidOf(role, 0);
      return now > 0 && now != pid;
    })) << role;
  }
  // More than the last coordinator has read in its journal, so the job is training again.
  const int64_t before = BatchesDone();
  EXPECT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() > before + 300; }));
  const CommandResult down = Cairn({"down"});
  EXPECT_EQ(down.exit_code, 0) << down.output << down.errors;
  EXPECT_THAT(down.output, HasSubstr("batches"));

  const int64_t done = BatchesDone();
  ASSERT_EQ(Up().exit_code, 0);
  EXPECT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() > done + 300; }));
  const auto cairn = [this](const std::vector<std::string>& command) { return Cairn(command); };
  EXPECT_EQ(CountAtCheckpoint(cairn, folder_.path("model"), job.rows), "");
}

TEST_F(UpDown, DownEndsAClusterWhoseWorkerHangs) {
  ASSERT_EQ(Up({"--ps", "1", "--workers", "1"}).exit_code, 0);
  const int64_t pid = PidOf("worker", 0);
  ASSERT_EQ(kill(static_cast<pid_t>(pid), SIGSTOP), 0);
  const CommandResult down = Cairn({"down"});
  EXPECT_EQ(down.exit_code, 0) << down.output << down.errors;
  EXPECT_FALSE(IsAlive(pid));
}

TEST_F(UpDown, CtrlCOnFollowOnlyDetachesAndSaysHowToComeBack) {
  ASSERT_EQ(Up({"--ps", "1", "--workers", "1"}).exit_code, 0);
  CountingJob job;
  job.batches = 100000;
  ASSERT_EQ(Cairn({"submit", WriteCountingJob(job, folder_.path("job"))}).exit_code, 0);
  Process::Options options;
  options.arguments = {ProgramPath("cli/cairn"), "follow", "count", "--state", state()};
  options.output_file = folder_.path("follow.out");
  options.error_file = folder_.path("follow.err");
  Process follow(options);
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return !ReadFile(options.output_file).empty(); }));
  follow.Signal(SIGINT);
  EXPECT_EQ(follow.Wait(seconds(30)).value_or(-1), 128 + SIGINT);
  EXPECT_THAT(ReadFile(options.error_file),
              HasSubstr("the job continues while its cluster runs. To follow it again: cairn "
                        "follow count --state " +
                        state()));
  const int64_t done = BatchesDone();
  EXPECT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() > done; }));
  EXPECT_EQ(Cairn({"cancel", "count"}).exit_code, 0);
  EXPECT_GT(BatchesDone(), done) << "what was done is still told";
}

TEST_F(UpDown, ClosingTheReaderEndsACommandQuietly) {
  ASSERT_EQ(Up({"--ps", "1", "--workers", "1"}).exit_code, 0);
  Process::Options options;
  options.arguments = {"/bin/bash", "-c",
                       "set -o pipefail; " + ProgramPath("cli/cairn") + " logs --follow --state " +
                           state() + " | head -1"};
  options.output_file = folder_.path("head.out");
  options.error_file = folder_.path("head.err");
  Process head(options);
  // The daemons write their next log lines to a closed pipe.
  ASSERT_TRUE(WaitUntil(seconds(30), [&] { return !ReadFile(options.output_file).empty(); }));
  for (const std::string batches : {"1", "2"}) {
    CountingJob job;
    job.name = "count" + batches;
    job.batches = 100;
    job.batches_per_epoch = 100;
    Cairn({"submit", WriteCountingJob(job, folder_.path("job" + batches)), "--follow"});
  }
  EXPECT_EQ(head.Wait(seconds(30)).value_or(-1), 128 + SIGPIPE);
  EXPECT_EQ(ReadFile(options.error_file), "");
}

}  // namespace
}  // namespace cairn::testing
