// Every operation on files of a task, erring and hanging, one after the other in one job that goes
// on: with each fault it makes progress, or it does when a supervisor has restarted the task that
// ended. In the end every batch has counted once.

#include <cerrno>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

struct FilesOfATask {
  std::string type;
  int index = 0;
  std::string path;
  std::vector<std::string> operations;
};

const std::vector<FilesOfATask>& AllFiles() {
  static const auto* const files = new std::vector<FilesOfATask>{
      {"worker", 0, "/x.npy", {"open", "read", "stat"}},
      {"ps", 1, "/ps-1/", {"open", "read", "write", "sync", "stat", "rename", "unlink"}},
      {"chief", 0, "/coordinator/", {"open", "read", "write", "sync", "stat", "rename", "unlink"}},
  };
  return *files;
}

struct SweepCase {
  std::string name;
  std::string strategy;
  int64_t batches_per_update = 1;
  int error = 0;  // 0: hangs.
};

class FaultSweep : public ::testing::TestWithParam<std::tuple<SweepCase, FilesOfATask>> {
 protected:
  FaultSweep() {
    cluster_.AddFlags("chief", {"--progress_timeout", "2"});
    // Every batch is read from the file.
    cluster_.AddFlags("worker", {"--data_memory", "0"});
    for (const FilesOfATask& files : AllFiles()) cluster_.FilesOf(files.type, files.index);
  }

  static const SweepCase& Case() { return std::get<0>(GetParam()); }
  static const FilesOfATask& Files() { return std::get<1>(GetParam()); }

  int64_t BatchesDone() { return cluster_.Status("count").value("batches_done", int64_t{-1}); }

  // What a supervisor does.
  void RestartEnded() {
    for (const FilesOfATask& files : AllFiles()) {
      Process& task = cluster_.task(files.type, files.index);
      if (task.running()) continue;
      EXPECT_EQ(task.Wait(seconds(1)).value_or(-1), 129) << files.type;
      cluster_.Start(files.type, files.index);
    }
  }

  bool MakesProgress(int64_t batches) {
    int64_t begin = -1;
    return WaitUntil(seconds(60), [&] {
      RestartEnded();
      const int64_t done = BatchesDone();
      if (begin < 0 || done < begin) begin = done;  // After a rollback.
      return begin >= 0 && done >= begin + batches;
    });
  }

  TestCluster cluster_{/*ps_count=*/2, /*worker_count=*/2};
};

TEST_P(FaultSweep, TheJobGoesOn) {
  CountingJob job = EndlessCountingJob();
  job.strategy = Case().strategy;
  job.batches_per_update = Case().batches_per_update;
  job.distinct = true;
  // So many are kept that the last one is still there when a slow tool exports it.
  job.more = R"({"checkpoint": {"every_steps": 200, "keep": 200}})";
  cluster_.StartAll();
  const CommandResult submitted =
      cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder("job"))});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.errors;
  ASSERT_TRUE(MakesProgress(200)) << cluster_.Logs();

  int fired = 0;
  const FaultyFiles& faults = cluster_.FilesOf(Files().type, Files().index);
  for (const std::string& operation : Files().operations) {
    SCOPED_TRACE(operation + " " + Files().path);
    const int before = faults.fired();
    faults.Set({{operation, Files().path, Case().error}});
    // Some operations happen only in a process that starts, as this one may have to.
    if (!WaitUntil(seconds(1), [&] { return faults.fired() > before; })) {
      cluster_.task(Files().type, Files().index).Kill();
      cluster_.Launch(Files().type, Files().index);
    }
    // A job cannot go on without its coordinator, nor without a part that is on one disk only.
    if (Files().type == "worker") {
      EXPECT_TRUE(MakesProgress(300)) << cluster_.Status("count") << cluster_.Logs();
    } else {
      std::this_thread::sleep_for(seconds(4));
    }
    fired += faults.fired() > before ? 1 : 0;
    faults.Clear();
    ASSERT_TRUE(MakesProgress(300)) << cluster_.Status("count") << cluster_.Logs();
  }
  EXPECT_GE(fired, Files().operations.size() - 1) << "too few faults have occurred";
  const auto cairn = [&](const std::vector<std::string>& command) {
    return cluster_.Cairn(command);
  };
  EXPECT_EQ(SumAtNextEpoch(cairn, cluster_.folder("export"), job), "");
}

SweepCase Async(const std::string& name, int error) {
  return {name, R"({"parameter_server": {"mode": "async"}})", 1, error};
}
SweepCase Stale(const std::string& name, int error) {
  return {name, R"({"parameter_server": {"mode": "stale", "window": 3}})", 1, error};
}
SweepCase Sync(const std::string& name, int error) {
  return {name, R"({"parameter_server": {"mode": "sync", "batches_per_update": 4}})", 4, error};
}
std::string NameOf(const ::testing::TestParamInfo<FaultSweep::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).type;
}

INSTANTIATE_TEST_SUITE_P(Suite, FaultSweep,
                         ::testing::Combine(::testing::Values(Async("async_errs", EIO),
                                                              Sync("sync_hangs", 0)),
                                            ::testing::ValuesIn(AllFiles())),
                         NameOf);
// Each takes some minutes, most of it waiting.
INSTANTIATE_TEST_SUITE_P(
    DISABLED_Others, FaultSweep,
    ::testing::Combine(::testing::Values(Async("async_hangs", 0), Stale("stale_errs", EIO),
                                         Stale("stale_hangs", 0), Sync("sync_errs", EIO)),
                       ::testing::ValuesIn(AllFiles())),
    NameOf);

}  // namespace
}  // namespace cairn::testing
