// The faults that TensorFlow's tests of its parameter server training inject
// (tensorflow/python/distribute/coordinator/fault_tolerance_test_base.py): workers that are killed
// between steps, in mid-step, twice in a row, two at once or while data are opened and read; a ps
// that is killed while a worker recovers; values that are read while workers die. TensorFlow
// expects that each step runs at least once, and that a job fails with its ps. Here each batch is
// applied exactly once: every gradient is distinct, and the sum of all is compared.
//
// All cases use one cluster, whose coordinator is never restarted.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TensorFlowFaultTolerance : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<TestCluster>(/*ps_count=*/2, /*worker_count=*/2);
    // A step takes at least 4 ms, so a job lasts longer than the restart of a task.
    cluster_->AddFlags("worker",
                       {"--unsafe_testing", "--failpoint", "worker.forward=sleep:4@1-1000000000"});
    cluster_->StartAll();
    coordinator_ = cluster_->task("chief", 0).pid();
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    job_.name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* type : {"ps", "worker"}) {
      for (const int index : {0, 1})
        ASSERT_TRUE(WaitUntil(seconds(60),
                              [&] { return cluster_->Member(type, index).value("live", false); }))
            << type << " " << index << cluster_->Logs();
    }
  }

  // The next case gets tasks without its faults.
  void TearDown() override {
    for (const int worker : {0, 1}) {
      if (armed_[worker] || !cluster_->task("worker", worker).running()) RestartWorker(worker);
    }
    EXPECT_TRUE(cluster_->task("chief", 0).running());
    EXPECT_EQ(cluster_->task("chief", 0).pid(), coordinator_) << "not the same cluster";
  }

  // Kills a worker and starts it again, with a failpoint if there is one. Returns when it has
  // joined.
  static void RestartWorker(int index, const std::string& failpoint = "") {
    cluster_->task("worker", index).Kill();
    StartWorker(index, failpoint);
  }
  static void StartWorker(int index, const std::string& failpoint = "") {
    const int64_t before = cluster_->Member("worker", index).value("incarnation", int64_t{0});
    armed_[index] = !failpoint.empty();
    log_begin_[index] = cluster_->LogOf("worker", index).size();
    cluster_->Start("worker", index,
                    failpoint.empty() ? std::vector<std::string>()
                                      : std::vector<std::string>{"--failpoint", failpoint});
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      const json member = cluster_->Member("worker", index);
      return member.value("live", false) && member.value("incarnation", int64_t{0}) > before;
    })) << cluster_->Logs();
  }

  // Waits until a worker has reached the failpoint that it was started with.
  static void WaitForFailpoint(int worker, const std::string& name) {
    ASSERT_TRUE(WaitUntil(seconds(60),
                          [&] {
                            const std::string log =
                                cluster_->LogOf("worker", worker).substr(log_begin_[worker]);
                            return log.find("failpoint name=" + name + " ") != std::string::npos;
                          }))
        << "the job ended before worker " << worker << " reached " << name << cluster_->Logs();
  }

  void Submit(const std::string& more = "{}", int64_t epochs = 2) {
    job_.batch_size = 4;
    job_.batches_per_epoch = 1500;
    job_.batches = epochs * job_.batches_per_epoch;
    job_.checkpoint_every = 400;
    job_.more = more;
    const CommandResult result =
        cluster_->Cairn({"submit", WriteCountingJob(job_, cluster_->folder(job_.name))});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  }

  json Status() { return cluster_->Status(job_.name); }
  void WaitFor(const char* number, int64_t value) {
    ASSERT_TRUE(
        WaitUntil(seconds(60), [&] { return Status().value(number, int64_t{-1}) >= value; }))
        << number << Status() << cluster_->Logs();
  }

  // How many notes of the job begin with this text.
  static int64_t Notes(const json& status, const std::string& text) {
    const json notes = status.value("notes", json::array());
    return std::count_if(notes.begin(), notes.end(), [&](const json& note) {
      return note.value("note", "").rfind(text, 0) == 0;
    });
  }

  std::string Export() {
    const std::string folder = cluster_->folder("export-" + job_.name);
    const CommandResult exported = cluster_->Cairn({"export", job_.name, "--output", folder});
    EXPECT_EQ(exported.exit_code, 0) << exported.errors;
    return folder;
  }

  // The job ends with the exact sum, and its notes name each task as often as it was lost.
  void ExpectExactEnd(const std::vector<int>& lost_workers, const std::vector<int>& lost_ps) {
    const json status = cluster_->WaitForEnd(job_.name, seconds(240));
    ASSERT_EQ(status.value("state", ""), "finished") << status << cluster_->Logs();
    EXPECT_EQ(status.value("batches_done", -1), job_.batches) << status;
    EXPECT_EQ(
        job_.distinct ? SumIsNot(job_, Export()) : CountIsNot(job_.batches, Export(), job_.rows),
        "")
        << status;
    ExpectLosses(status, lost_workers, lost_ps);
  }

  static void ExpectLosses(const json& status, const std::vector<int>& lost_workers,
                           const std::vector<int>& lost_ps) {
    int64_t workers = 0;
    int64_t ps = 0;
    for (const int index : {0, 1}) {
      EXPECT_EQ(Notes(status, "worker " + std::to_string(index) + " is gone"), lost_workers[index])
          << status;
      EXPECT_EQ(Notes(status, "ps " + std::to_string(index) + " was lost"), lost_ps[index])
          << status;
      workers += lost_workers[index];
      ps += lost_ps[index];
    }
    EXPECT_EQ(status.value("workers_lost", -1), workers) << status;
    EXPECT_EQ(status.value("rollbacks", -1), ps) << status;
  }

  static inline std::unique_ptr<TestCluster> cluster_;
  static inline pid_t coordinator_ = 0;
  // By worker.
  static inline std::map<int, size_t> log_begin_;
  static inline std::map<int, bool> armed_;
  CountingJob job_{.distinct = true};
};

TEST_F(TensorFlowFaultTolerance, AWorkerKilledBetweenJobs) {
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(ExpectExactEnd({0, 0}, {0, 0}));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  cluster_->Cairn({"delete", job_.name});
  ASSERT_NO_FATAL_FAILURE(Submit());
  ExpectExactEnd({0, 0}, {0, 0});
}

// The batch is applied, and the worker dies before it tells the coordinator.
TEST_F(TensorFlowFaultTolerance, AWorkerKilledBetweenSteps) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.applied=hang@20"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.applied"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  ExpectExactEnd({1, 0}, {0, 0});
}

TEST_F(TensorFlowFaultTolerance, AWorkerKilledInMidStep) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.gradient=hang@20"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.gradient"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  ExpectExactEnd({1, 0}, {0, 0});
}

TEST_F(TensorFlowFaultTolerance, AWorkerKilledInMidStepTwiceInARow) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.gradient=hang@20"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.gradient"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.gradient=hang@5"));
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.gradient"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  ExpectExactEnd({2, 0}, {0, 0});
}

TEST_F(TensorFlowFaultTolerance, TwoWorkersKilledInMidStepAtOnce) {
  for (const int worker : {0, 1}) {
    ASSERT_NO_FATAL_FAILURE(RestartWorker(worker, "worker.gradient=hang@20"));
  }
  ASSERT_NO_FATAL_FAILURE(Submit());
  for (const int worker : {0, 1}) {
    ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(worker, "worker.gradient"));
  }
  for (const int worker : {0, 1}) cluster_->task("worker", worker).Signal(SIGKILL);
  for (const int worker : {0, 1}) ASSERT_NO_FATAL_FAILURE(RestartWorker(worker));
  ExpectExactEnd({1, 1}, {0, 0});
}

TEST_F(TensorFlowFaultTolerance, AWorkerThatIsKilledAndStaysAway) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(1, "worker.gradient=crash@20"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ExpectExactEnd({0, 1}, {0, 0});
  EXPECT_FALSE(cluster_->Member("worker", 1).value("live", true));
}

TEST_F(TensorFlowFaultTolerance, AWorkerKilledWhileItReadsABatch) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.read_batch=hang@20"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.read_batch"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  ExpectExactEnd({1, 0}, {0, 0});
}

// The second time it dies before it has opened the data again.
TEST_F(TensorFlowFaultTolerance, AWorkerKilledWhileItOpensTheData) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.gradient=hang@20"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.gradient"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.load=hang@1"));
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.load"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  ExpectExactEnd({2, 0}, {0, 0});
}

TEST_F(TensorFlowFaultTolerance, APsKilledWhileAWorkerRecovers) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.gradient=hang@400"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.gradient"));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.load=hang@1"));
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.load"));
  cluster_->task("ps", 1).Kill();
  cluster_->Start("ps", 1);
  ASSERT_NO_FATAL_FAILURE(WaitFor("rollbacks", 1));
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  ExpectExactEnd({2, 0}, {0, 1});
  EXPECT_EQ(Notes(Status(), "ps 1 was lost: back to checkpoint "), 1) << Status();
}

// The weight of each checkpoint is the number of batches that it says are applied.
TEST_F(TensorFlowFaultTolerance, ValuesReadAllTheTimeWhileWorkersDie) {
  job_.name = "count";
  job_.distinct = false;
  // It trains until it is cancelled, however slow the reads are.
  ASSERT_NO_FATAL_FAILURE(Submit("{}", /*epochs=*/100'000));
  ASSERT_NO_FATAL_FAILURE(WaitFor("batches_done", 20));
  std::atomic<int> reads = 0;
  std::atomic<bool> stop = false;
  // The thread reads and this one starts workers: they would die with a thread that started them.
  std::thread reader([&] {
    const auto cairn = [](const std::vector<std::string>& command) {
      return cluster_->Cairn(command);
    };
    for (; !stop; ++reads) {
      EXPECT_EQ(CountAtCheckpoint(cairn, cluster_->folder("read"), job_.rows), "");
    }
  });
  for (const int worker : {0, 1, 0}) {
    RestartWorker(worker);
    // At least one read began and ended after the restart.
    const int before = reads;
    EXPECT_TRUE(WaitUntil(seconds(60), [&] { return reads >= before + 2; }));
  }
  stop = true;
  reader.join();
  ExpectLosses(Status(), {2, 1}, {0, 0});
  ASSERT_EQ(cluster_->Cairn({"cancel", job_.name}).exit_code, 0);
}

TEST_F(TensorFlowFaultTolerance, ResultsStayWhenAllWorkersAreDead) {
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(ExpectExactEnd({0, 0}, {0, 0}));
  for (const int worker : {0, 1}) cluster_->task("worker", worker).Kill();
  ExpectExactEnd({0, 0}, {0, 0});
}

TEST_F(TensorFlowFaultTolerance, AJobCancelledWhileAWorkerIsDeadLeavesTheClusterUsable) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.gradient=hang@20"));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.gradient"));
  cluster_->task("worker", 0).Kill();
  ASSERT_EQ(cluster_->Cairn({"cancel", job_.name}).exit_code, 0);
  EXPECT_EQ(cluster_->WaitForEnd(job_.name, seconds(60)).value("state", ""), "cancelled");
  cluster_->Cairn({"delete", job_.name});
  ASSERT_NO_FATAL_FAILURE(StartWorker(0));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ExpectExactEnd({0, 0}, {0, 0});
}

// Without a checkpoint, and if the job shall not start again, the error names the ps, and the
// cluster serves the next job.
TEST_F(TensorFlowFaultTolerance, TheErrorNamesThePsThatWasLost) {
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0, "worker.gradient=hang@20"));
  ASSERT_NO_FATAL_FAILURE(
      Submit(R"({"on_lost_checkpoint": "fail", "checkpoint": {"every_epochs": 2}})"));
  ASSERT_NO_FATAL_FAILURE(WaitForFailpoint(0, "worker.gradient"));
  cluster_->task("ps", 0).Kill();
  cluster_->Start("ps", 0);
  const json status = cluster_->WaitForEnd(job_.name, seconds(60));
  EXPECT_EQ(status.value("state", ""), "failed") << status;
  const auto names_ps_0 =
      AllOf(HasSubstr("ps 0 was lost"), Not(HasSubstr("ps 1")), Not(HasSubstr("worker")));
  EXPECT_THAT(status.value("error", ""), names_ps_0);
  const CommandResult follow = cluster_->Cairn({"follow", job_.name});
  EXPECT_EQ(follow.exit_code, 1);
  EXPECT_THAT(follow.errors, names_ps_0);
  cluster_->Cairn({"delete", job_.name});
  ASSERT_NO_FATAL_FAILURE(RestartWorker(0));
  ASSERT_NO_FATAL_FAILURE(Submit());
  ExpectExactEnd({0, 0}, {0, 0});
}

}  // namespace
}  // namespace cairn::testing
