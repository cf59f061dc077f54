// Scarce resources: disk space and file descriptors. A limit on the size of files (RLIMIT_FSIZE)
// simulates a full disk without privileges.

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <list>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/connection.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr rlim_t kEndless = RLIM_INFINITY;

void SetLimit(Process* process, int resource, rlim_t soft) {
  rlimit limit = {};
  ASSERT_EQ(prlimit(process->pid(), static_cast<__rlimit_resource>(resource), nullptr, &limit), 0);
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  ASSERT_EQ(prlimit(process->pid(), static_cast<__rlimit_resource>(resource), &limit, nullptr), 0);
}

class Scarcity : public ::testing::Test {
 protected:
  // Its snapshots are larger than a log. It takes a checkpoint at the end of each of its many
  // epochs.
  void Submit() {
    job_.rows = 40000;
    job_.batch_size = 1;
    job_.batches_per_epoch = 50;
    job_.batches = 3000;
    cluster_.StartAll();
    const CommandResult result =
        cluster_.Cairn({"submit", WriteCountingJob(job_, cluster_.folder("job"))});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
    ASSERT_TRUE(StatusReaches("last_checkpoint", 1)) << cluster_.Logs();
  }

  int64_t Number(const char* name) {
    const json status = cluster_.Status("count");
    return status.value(name, int64_t{0});
  }
  int LivePs() {
    int live = 0;
    for (const json& member : cluster_.Cairn({"cluster", "--json"}).lines()) {
      if (member.value("role", "") != "ps" || !member.value("live", false)) continue;
      EXPECT_GT(member.value("memory_limit_bytes", int64_t{0}), 0) << member;
      ++live;
    }
    return live;
  }
  bool StatusReaches(const char* name, int64_t number) {
    return WaitUntil(seconds(120), [&] { return Number(name) >= number; });
  }

  void ExpectExactCount() {
    const json status = cluster_.WaitForEnd("count", seconds(240));
    ASSERT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
    EXPECT_EQ(status.value("rollbacks", -1), 0) << status;
    const CommandResult result =
        cluster_.Cairn({"export", "count", "--output", cluster_.folder("export")});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(CountIsNot(job_.batches, cluster_.folder("export"), job_.rows), "");
  }

  CountingJob job_;
  TestCluster cluster_{/*ps_count=*/2, /*worker_count=*/2};
};

TEST_F(Scarcity, APsWithoutRoomKeepsItsLastCheckpointAndTrainsOnAndSaysSo) {
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(SetLimit(&cluster_.task("ps", 0), RLIMIT_FSIZE, 32 << 10));
  ASSERT_TRUE(StatusReaches("checkpoints_failed", 1)) << cluster_.Logs();
  const int64_t kept = Number("last_checkpoint");
  const int64_t failed = Number("checkpoints_failed");
  const int64_t done = Number("batches_done");
  ASSERT_TRUE(StatusReaches("checkpoints_failed", failed + 1)) << cluster_.Logs();
  EXPECT_GT(Number("batches_done"), done) << "training goes on";
  EXPECT_EQ(Number("last_checkpoint"), kept);
  const CommandResult shown = cluster_.Cairn({"status", "count"});
  EXPECT_NE(shown.output.find("last error"), std::string::npos) << shown.output;

  ASSERT_NO_FATAL_FAILURE(SetLimit(&cluster_.task("ps", 0), RLIMIT_FSIZE, kEndless));
  ASSERT_TRUE(StatusReaches("last_checkpoint", kept + 1)) << cluster_.Logs();
  ExpectExactCount();
}

// The first kernel has `inputs` rows, each of them a block of 64 MB.
std::string WriteLargeJob(const std::string& name, int inputs, const std::string& folder) {
  CountingJob job;
  job.name = name;
  job.rows = inputs;
  job.batches = job.batches_per_epoch = job.batch_size = 1;
  const std::string file = WriteCountingJob(job, folder);
  const auto dense = [&](int units) {
    return json{{"class_name", "Dense"},
                {"config",
                 {{"name", "dense_" + std::to_string(units)},
                  {"units", units},
                  {"use_bias", false},
                  {"activation", "linear"},
                  {"batch_input_shape", {nullptr, inputs}}}}};
  };
  const json model = {{"class_name", "Sequential"},
                      {"config", {{"name", "large"}, {"layers", {dense(16000000), dense(1)}}}},
                      {"keras_version", "2.15.0"},
                      {"backend", "tensorflow"}};
  WriteFile(folder + "/model.json", model.dump());
  return file;
}

TEST_F(Scarcity, AJobTooLargeForTheMachineIsRefusedWithTheFigures) {
  cluster_.StartAll();
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return LivePs() == 2; }));
  // 640 GB.
  const CommandResult refused =
      cluster_.Cairn({"submit", WriteLargeJob("large", /*inputs=*/10000, cluster_.folder("job"))});
  EXPECT_NE(refused.exit_code, 0) << refused.output;
  EXPECT_NE(refused.errors.find("does not fit into the memory of ps 0"), std::string::npos)
      << refused.errors;
  EXPECT_EQ(cluster_.Cairn({"jobs", "--json"}).lines().size(), 0u) << "nothing is left of it";
}

TEST_F(Scarcity, ACoordinatorWithoutRoomEndsAndGoesOnWhereThereIsSome) {
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(SetLimit(&cluster_.task("chief", 0), RLIMIT_FSIZE, 32 << 10));
  EXPECT_EQ(cluster_.task("chief", 0).Wait(seconds(120)).value_or(-1), 129) << cluster_.Logs();
  EXPECT_NE(ReadFile(cluster_.folder("chief0.log")).find("journal"), std::string::npos);
  cluster_.Start("chief", 0);
  ExpectExactCount();
}

// What a shell or systemd gave to a daemon.
class AddressSpace : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(CAIRN_THREAD_SANITIZER)
    GTEST_SKIP() << "a sanitizer reserves terabytes of the address space";
#endif
  }
};

TEST_F(AddressSpace, ADaemonWithTooLittleNamesTheLimitAndTheFix) {
  const TemporaryFolder folder;
  for (const auto& [program, type] :
       {std::pair("coordinator", "chief"), {"ps_server", "ps"}, {"worker", "worker"}}) {
    const json cluster = {
        {"chief", {"127.0.0.1:1"}}, {"ps", {"127.0.0.1:2"}}, {"worker", {"127.0.0.1:3"}}};
    Process::Options options;
    const std::string path = std::string(program) + "/" + program;
    options.arguments = {"/bin/sh", "-c", "ulimit -v 1000000; exec \"$0\" --state \"$1\"",
                         ProgramPath(path), folder.path("state")};
    options.environment["TF_CONFIG"] =
        json{{"cluster", cluster}, {"task", {{"type", type}, {"index", 0}}}}.dump();
    options.output_file = folder.path(program);
    Process daemon(options);
    EXPECT_EQ(daemon.Wait(seconds(30)).value_or(-1), 1) << program;
    EXPECT_EQ(ReadFile(options.output_file),
              std::string(program) +
                  ": the limit of the address space is 976 MiB (ulimit -v), at least 2048 MiB are "
                  "needed; raise it: ulimit -v unlimited, or systemd's LimitAS=infinity\n");
  }
}

TEST_F(AddressSpace, TheLeastThatIsAllowedIsEnoughToTrain) {
  const TemporaryFolder folder;
  const std::string job = WriteCountingJob(CountingJob(), folder.path("job"));
  Process::Options options;
  options.arguments = {"/bin/sh",
                       "-c",
                       "ulimit -v 2097152; exec \"$0\" run \"$1\" --state \"$2\"",
                       ProgramPath("cli/cairn"),
                       job,
                       folder.path("state")};
  options.output_file = folder.path("out");
  Process run(options);
  EXPECT_EQ(run.Wait(seconds(120)).value_or(-1), 0) << ReadFile(options.output_file);
}

TEST_F(Scarcity, ACoordinatorThatWasOutOfFileDescriptorsServesAgain) {
  cluster_.Start("chief", 0);
  const auto serves = [&] { return cluster_.Cairn({"jobs"}, seconds(20)).exit_code == 0; };
  ASSERT_TRUE(WaitUntil(seconds(60), serves)) << cluster_.Logs();
  ASSERT_NO_FATAL_FAILURE(SetLimit(&cluster_.task("chief", 0), RLIMIT_NOFILE, 64));
  {
    std::list<Connection> connections;
    while (connections.size() < 100) {
      ASSERT_TRUE(connections.emplace_back().ConnectTo(cluster_.port("chief", 0)));
    }
    EXPECT_TRUE(connections.back().IsClosedByPeer(seconds(60)));
  }
  EXPECT_TRUE(WaitUntil(seconds(60), serves)) << cluster_.Logs();
  EXPECT_NE(ReadFile(cluster_.folder("chief0.log")).find("rejecting connections until others end"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::testing
