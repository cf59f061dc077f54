// One row for each kind of file, operation and fault: reads, writes and syncs of a worker's data
// and spool, of a ps's snapshots and log, and of the coordinator's journal hang, fail, find no room
// or transfer less than asked for. In each the job makes progress while the fault lasts, or the
// task ends with the exit code for a restart and the job goes on when the disk is back. In the end
// every batch has counted once. The time until either is printed; it is to be at most
// --progress_timeout and 5 s. Only the rows outside the suite insist on that, because a machine
// that runs other tests, too, may be slower.

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kHang = 0;
constexpr int kShort = FaultyFiles::kShort;
constexpr int64_t kPerUpdate = 4;
constexpr seconds kProgressTimeout(2);
constexpr seconds kTimeLimit = (kProgressTimeout + seconds(5)) * kPatience;

// What makes the operation happen, if the job does not by itself.
enum class Trigger {
  kNone,
  kRestart,   // The task starts again.
  kRollBack,  // The other ps dies: all ps load a checkpoint, and log it.
  kHistory,   // `cairn history` reads what a restarted coordinator has on its disk.
};

enum class Outcome {
  kGoesOn,    // The job makes progress while the fault lasts.
  kRestarts,  // The task ends with exit code 129.
  kWaits,     // The task, which starts, waits for its disk.
};

struct Row {
  const char* files;
  const char* type;
  int index;
  const char* path;
  const char* operation;
  int error;
  Trigger trigger = Trigger::kNone;
  Outcome outcome = Outcome::kGoesOn;
  bool has_time_limit = false;
};

std::string FaultName(int error) {
  return error == kHang ? "hangs" : error == kShort ? "is_short" : error == EIO ? "EIO" : "ENOSPC";
}

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.files << " " << row.operation << " " << FaultName(row.error);
}

// What one disk does, for all kinds of files.
std::vector<Row> AllRows() {
  const std::vector<Row> files = {
      {"worker_data", "worker", 0, "/x.npy", "", 0},
      {"worker_spool", "worker", 0, "/spool/", "", 0, Trigger::kRestart},
      {"ps_snapshot", "ps", 1, "/ps-1/job-", "", 0},
      {"ps_log", "ps", 1, "ps1.log", "", 0, Trigger::kRollBack},
      {"coordinator_journal", "chief", 0, "/state/coordinator/", "", 0},
  };
  std::vector<Row> rows;
  for (Row row : files) {
    const std::string name = row.files;
    for (const char* operation : {"read", "write", "sync"}) {
      row.operation = operation;
      const bool reads = row.operation == std::string("read");
      if (name == "worker_data" && !reads) continue;
      if (name == "ps_log" && row.operation != std::string("write")) continue;
      if (name == "worker_spool" && row.operation == std::string("sync")) continue;
      for (const int error : {kHang, EIO, ENOSPC, kShort}) {
        if (error == ENOSPC && reads) continue;
        if (error == kShort && row.operation == std::string("sync")) continue;
        row.error = error;
        if (name == "coordinator_journal") {
          row.trigger = reads ? Trigger::kRestart : Trigger::kNone;
          row.outcome = error == kShort           ? Outcome::kGoesOn
                        : reads && error == kHang ? Outcome::kWaits
                                                  : Outcome::kRestarts;
        }
        rows.push_back(row);
      }
    }
  }
  for (const int error : {kHang, EIO, kShort}) {
    rows.push_back({"coordinator_history", "chief", 0, "/state/coordinator/", "read", error,
                    Trigger::kHistory});
  }
  return rows;
}

std::vector<Row> AllRowsWithTimeLimit() {
  std::vector<Row> rows = AllRows();
  for (Row& row : rows) row.has_time_limit = true;
  return rows;
}

// About 5 s each: the ones that tests of single parts do not have.
std::vector<Row> RowsOfSuite() {
  std::vector<Row> rows;
  for (const Row& row : AllRows()) {
    const std::string name = row.files + std::string(" ") + row.operation;
    const bool chosen = (name == "worker_data read" && row.error == kShort) ||
                        (name == "worker_spool write" && row.error != EIO) ||
                        (name == "ps_snapshot write" && row.error != kHang) ||
                        (name == "ps_snapshot sync" && row.error == ENOSPC) ||
                        (name == "ps_log write" && row.error == ENOSPC) ||
                        (name == "coordinator_journal write" && row.error > 0) ||
                        (name == "coordinator_history read" && row.error == kHang);
    if (chosen) rows.push_back(row);
  }
  return rows;
}

// A cluster of two ps and two workers that goes from row to row.
class FaultyCluster {
 public:
  FaultyCluster() {
    cluster_.AddFlags("chief", {"--progress_timeout", std::to_string(kProgressTimeout.count())});
    // Every batch is read from the file, and what is compressed goes to the spool.
    cluster_.AddFlags("worker", {"--data_memory", "0", "--spool", cluster_.folder("spool")});
    for (const auto& [type, index] : {std::pair("worker", 0), {"ps", 1}, {"chief", 0}}) {
      cluster_.FilesOf(type, index);
    }
    job_ = EndlessCountingJob();
    job_.batches_per_update = kPerUpdate;
    job_.strategy = R"({"parameter_server": {"mode": "sync", "batches_per_update": 4}})";
    job_.distinct = true;
    // So many are kept that the one of an epoch is still there when it is exported.
    job_.more = R"({"checkpoint": {"every_steps": 100, "keep": 20}})";
    file_ = WriteCountingJob(job_, cluster_.folder("job"));
    const std::string labels = cluster_.folder("job") + "/y.npy";
    const std::string compress = "gzip -1 " + labels + " && mv " + labels + ".gz " + labels;
    EXPECT_EQ(std::system(("mkdir " + cluster_.folder("spool") + " && " + compress).c_str()), 0);
    cluster_.StartAll();
    const CommandResult submitted = cluster_.Cairn({"submit", file_});
    EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  }

  TestCluster& cluster() { return cluster_; }
  const CountingJob& job() const { return job_; }

  bool MakesProgress(int64_t batches) {
    int64_t begin = -1;
    return WaitUntil(seconds(60), [&] {
      const int64_t done = cluster_.Status("count").value("batches_done", int64_t{-1});
      if (begin < 0 || done < begin) begin = done;  // After a rollback.
      return begin >= 0 && done >= begin + batches;
    });
  }

  // Whether the worker computes batches, perhaps after a pause.
  bool Computes(int worker) {
    return WaitUntil(seconds(90), [&] {
      const json member = cluster_.Member("worker", worker);
      return member.value("activity", "").find("batch") != std::string::npos;
    });
  }

  // What a supervisor does.
  void RestartEnded() {
    for (const auto& [type, index] : {std::pair("worker", 0), {"ps", 1}, {"chief", 0}}) {
      Process& task = cluster_.task(type, index);
      if (task.running()) continue;
      EXPECT_EQ(task.Wait(seconds(1)).value_or(-1), 129) << type;
      cluster_.Start(type, index);
    }
  }

 private:
  TestCluster cluster_{/*ps_count=*/2, /*worker_count=*/2};
  CountingJob job_;
  std::string file_;
};

class FileFaults : public ::testing::TestWithParam<Row> {
 protected:
  static void TearDownTestSuite() {
    if (shared_ == nullptr) return;
    const auto cairn = [](const std::vector<std::string>& command) {
      return shared_->cluster().Cairn(command);
    };
    EXPECT_EQ(SumAtNextEpoch(cairn, shared_->cluster().folder("export"), shared_->job()), "");
    shared_.reset();
  }

  // Makes the operation happen.
  void Provoke(const Row& row, const FaultyFiles& files, int before) {
    TestCluster& cluster = shared_->cluster();
    switch (row.trigger) {
      case Trigger::kNone:
        break;
      case Trigger::kRestart:
        cluster.task(row.type, row.index).Kill();
        if (row.outcome == Outcome::kWaits) {
          // Start returns when the coordinator answers.
          background_ = std::thread([&files, before] {
            WaitUntil(seconds(60), [&] { return files.fired() > before; });
            std::this_thread::sleep_for(seconds(3));
            files.Clear();
          });
        }
        cluster.Start(row.type, row.index);
        break;
      case Trigger::kRollBack:
        cluster.task("ps", 0).Kill();
        cluster.Start("ps", 0);
        break;
      case Trigger::kHistory:
        background_ = std::thread([&cluster] { cluster.Cairn({"history", "count"}, seconds(20)); });
        break;
    }
  }

  static inline std::unique_ptr<FaultyCluster> shared_;
  std::thread background_;
};

TEST_P(FileFaults, TheJobGoesOn) {
  const Row row = GetParam();
  if (shared_ == nullptr) shared_ = std::make_unique<FaultyCluster>();
  TestCluster& cluster = shared_->cluster();
  ASSERT_TRUE(shared_->MakesProgress(100)) << cluster.Logs();
  if (row.trigger == Trigger::kHistory) {
    // Its memory is empty.
    cluster.task("chief", 0).Kill();
    cluster.Start("chief", 0);
    ASSERT_TRUE(shared_->MakesProgress(100)) << cluster.Logs();
  }
  const FaultyFiles& files = cluster.FilesOf(row.type, row.index);
  const int before = files.fired();
  files.Set({{row.operation, row.path, row.error}});
  [&] {
    Provoke(row, files, before);
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return files.fired() > before; }))
        << "the fault did not occur";
    const auto begin = steady_clock::now();
    switch (row.outcome) {
      case Outcome::kGoesOn:
        EXPECT_TRUE(shared_->MakesProgress(60)) << cluster.Status("count") << cluster.Logs();
        break;
      case Outcome::kRestarts:
        EXPECT_EQ(cluster.task(row.type, row.index).Wait(seconds(60)).value_or(-1), 129)
            << cluster.LogOf(row.type, row.index);
        break;
      case Outcome::kWaits:
        break;
    }
    const std::chrono::duration<double> took = steady_clock::now() - begin;
    std::cout << row << ": " << took.count() << " s\n";
    if (row.has_time_limit) {
      EXPECT_LE(took.count(), kTimeLimit.count()) << row;
    }
  }();
  files.Clear();
  if (background_.joinable()) background_.join();
  shared_->RestartEnded();
  if (row.type == std::string("worker")) {
    EXPECT_TRUE(shared_->Computes(row.index)) << cluster.Logs();
  }
  EXPECT_TRUE(shared_->MakesProgress(100)) << cluster.Status("count") << cluster.Logs();
  if (HasFailure()) shared_.reset();
}

std::string NameOf(const ::testing::TestParamInfo<Row>& info) {
  return info.param.files + std::string("_") + info.param.operation + "_" +
         FaultName(info.param.error);
}

INSTANTIATE_TEST_SUITE_P(Suite, FileFaults, ::testing::ValuesIn(RowsOfSuite()), NameOf);
// A few minutes: --gtest_also_run_disabled_tests --gtest_filter=DISABLED_All*.
INSTANTIATE_TEST_SUITE_P(DISABLED_All, FileFaults, ::testing::ValuesIn(AllRowsWithTimeLimit()),
                         NameOf);

}  // namespace
}  // namespace cairn::testing
