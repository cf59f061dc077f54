// Every failpoint of common/failpoint.h fires once, in a task of a small cluster that trains the
// counting job. The task dies there, or meets an error; a task that died is started again without
// the failpoint. The job must end with the exact sum of all gradients, and deleting it must leave
// no file. A failpoint that did not fire fails the test.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <thread>

#include "common/failpoint.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What else must happen so that the failpoint is reached.
enum class Need {
  kNothing,
  kEmptyDisk,         // The disk of ps 0 is empty when it starts.
  kSynchronous,       // The job is synchronous.
  kProfile,           // The job is profiled.
  kLostCoordinator,   // The coordinator is killed while the job trains.
  kFailedCheckpoint,  // Ps 0 fails to write a checkpoint.
  kTornCut,           // A cut is made when a batch is applied on one ps only.
};

struct Point {
  const char* name;
  // The task that is armed: the coordinator ("chief"), ps 0 or worker 0. Null: another test does
  // it.
  const char* task;
  const char* action;
  Need need = Need::kNothing;
};

// Points that are reached once in a job have crash@1. The others crash at a later hit, when there
// is something to lose. Some have errors, too: those that a crash does not replace.
constexpr Point kPoints[] = {
    {"journal.open", "chief", "crash@1"},
    {"journal.sync", "chief", "crash@12"},
    {"journal.sync", "chief", "error@12"},
    {"journal.write", "chief", "crash@2"},
    {"journal.synced", "chief", "crash@12"},
    {"journal.synced", "chief", "error@12"},
    {"journal.read", "chief", "crash@1"},
    {"snapshot.open", "ps", "crash@2"},
    {"snapshot.read_block", "ps", "crash@1"},
    {"snapshot.read_block", "ps", "error@1"},
    {"snapshot.delete", "ps", "crash@2"},
    {"snapshot.delete", "ps", "error@2"},
    {"snapshot.sync_deletion", "ps", "crash@2"},
    {"snapshot.create", "ps", "crash@3"},
    {"snapshot.create", "ps", "error@3"},
    {"snapshot.add", "ps", "crash@3"},
    {"snapshot.add", "ps", "error@3"},
    {"snapshot.published", "ps", "crash@3"},
    {"snapshot.close", "ps", "crash@3"},
    {"snapshot.read_back", "ps", "crash@3"},
    {"snapshot.read_back", "ps", "error@3"},
    {"snapshot.rename", "ps", "crash@3"},
    {"snapshot.sync_directory", "ps", "crash@3"},
    {"snapshot.sync_directory", "ps", "error@3"},
    {"snapshot_store.clean_up", "ps", "crash@1"},
    {"cluster_file.write", "ps", "crash@1", Need::kEmptyDisk},
    {"cluster_file.rename", "ps", "crash@1", Need::kEmptyDisk},
    {"cluster_file.sync_directory", "ps", "crash@1", Need::kEmptyDisk},
    {"cluster_file.sync_directory", "ps", "error@1", Need::kEmptyDisk},
    {"ps.welcome", "ps", "crash@1"},
    {"ps.offer_replicas", nullptr, "tests/end_to_end/replicas_test.cc"},
    {"ps.replicate", nullptr, "tests/end_to_end/replicas_test.cc"},
    {"ps.receive_reduced", nullptr, "tests/end_to_end/replicas_test.cc"},
    {"ps.restore", "ps", "crash@1"},
    {"ps.restore", "ps", "error@1"},
    {"ps.restored", "ps", "crash@1"},
    {"ps.stop_job", "ps", "crash@1"},
    {"ps.stop_job", "ps", "hang@1"},
    {"ps.job_stopped", "ps", "crash@1"},
    {"ps.job_deleted", "ps", "crash@1"},
    {"ps.ledgers_queried", "ps", "crash@1", Need::kLostCoordinator},
    {"ps.ledgers_queried", "ps", "hang@1", Need::kLostCoordinator},
    {"ps.make_cut", "ps", "crash@2"},
    {"ps.make_cut", "ps", "error@2"},
    {"ps.cut_made", "ps", "crash@2"},
    {"ps.cut_made", "ps", "hang@2"},
    {"ps.persist", "ps", "crash@2"},
    {"ps.persist", "ps", "hang@2"},
    {"ps.persisted", "ps", "crash@2"},
    {"ps.drop_cut", "ps", "crash@2"},
    {"ps.delete_checkpoint", "ps", "crash@1"},
    {"ps.checkpoint_deleted", "ps", "crash@1"},
    {"ps.set_rates", "ps", "crash@1"},
    {"ps.set_rates", "ps", "hang@1"},
    {"ps.rates_set", "ps", "crash@1"},
    {"ps.profile", "ps", "crash@1", Need::kProfile},
    {"ps.snapshots_listed", "ps", "crash@1"},
    {"ps.copy_snapshot", "ps", "crash@2"},
    {"ps.copy_snapshot", "ps", "error@2"},
    {"ps.snapshot_copied", "ps", "crash@2"},
    {"ps.pull", "ps", "crash@2"},
    {"ps.pull", "ps", "error@2"},
    {"ps.pull_reply", "ps", "crash@2"},
    {"ps.pull_reply", "ps", "error@2"},
    {"ps.pull_cut", "ps", "crash@2"},
    {"ps.pull_checkpoint", "ps", "crash@1"},
    {"ps.push", "ps", "crash@100"},
    {"ps.push", "ps", "error@100-110"},
    {"ps.push_reply", "ps", "crash@100"},
    {"ps.push_reply", "ps", "error@100-110"},
    {"ps.upload", "ps", "crash@1"},
    {"ps.fetch", "ps", "crash@2"},
    {"ps.fetch", "ps", "error@2"},
    {"upload.store", "ps", "crash@1"},
    {"upload.store", "ps", "error@1"},
    {"upload.stored", "ps", "crash@1"},
    {"upload.stored", "ps", "error@1"},
    {"upload.read", "ps", "crash@1"},
    {"upload.read", "ps", "error@1"},
    {"copy.finish", "ps", "crash@2"},
    {"copy.finish", "ps", "error@2"},
    {"fetch.send", "ps", "crash@2"},
    {"fetch.received", "ps", "crash@2"},
    {"fetch.received", "ps", "error@2"},
    {"block.ledger_tested", "ps", "crash@100"},
    {"block.values_changed", "ps", "crash@100"},
    {"block.batch_marked", "ps", "crash@100"},
    {"block.update_applied", "ps", "crash@100", Need::kSynchronous},
    {"session.join", "worker", "crash@1"},
    {"session.join", "ps", "error@1"},
    {"session.send", "worker", "crash@5"},
    {"session.send", "worker", "error@5"},
    {"session.send", "ps", "error@3"},
    {"session.receive", "worker", "crash@5"},
    {"session.receive", "worker", "error@5"},
    {"session.receive", "ps", "error@6"},
    {"ps_client.send", "worker", "crash@50"},
    {"ps_client.receive", "worker", "crash@51"},
    {"ps_client.receive", "worker", "error@51-60"},
    {"shared_memory.allocate", "worker", "crash@30"},
    {"shared_memory.allocate", "worker", "error@30-40"},
    {"shared_memory.adopt", "ps", "error@1-3"},
    {"shared_memory.find", "ps", "error@30-40"},
    {"shared_memory.offer", "worker", "error@1"},
    {"worker.inspect", "worker", "crash@1"},
    {"worker.inspected", "worker", "crash@1"},
    {"worker.load", "worker", "crash@1"},
    {"worker.start_generation", "worker", "crash@1"},
    {"worker.read_batch", "worker", "crash@20"},
    {"worker.pull", "worker", "crash@1"},
    {"worker.pulled", "worker", "crash@1"},
    {"worker.forward", "worker", "crash@20"},
    {"worker.gradient", "worker", "crash@20"},
    {"worker.push", "worker", "crash@40"},
    {"worker.end_step", "worker", "crash@20"},
    {"worker.pushed", "worker", "crash@20"},
    {"worker.applied", "worker", "crash@20"},
    {"worker.report", "worker", "crash@5"},
    {"worker.report", "worker", "error@5-8"},
    {"worker.load_cut", "worker", "crash@1"},
    {"worker.evaluate", "worker", "crash@2"},
    {"worker.evaluated", "worker", "crash@2"},
    {"spool.write", nullptr, "tests/worker/data/files/spool_test.cc"},
    {"coordinator.begin_term", "chief", "crash@1"},
    {"coordinator.welcome", "chief", "crash@2"},
    {"coordinator.accept_job", "chief", "crash@1"},
    {"coordinator.set_state", "chief", "crash@2"},
    {"coordinator.set_plan", "chief", "crash@1"},
    {"coordinator.begin_generation", "chief", "crash@1"},
    {"coordinator.choose_checkpoint", "chief", "crash@1"},
    {"coordinator.begin_training", "chief", "crash@1"},
    {"coordinator.choose_replicas", nullptr, "tests/end_to_end/replicas_test.cc"},
    {"coordinator.mark_damaged", nullptr, "tests/coordinator/journaled_job_test.cc"},
    {"coordinator.grant", "chief", "crash@2"},
    {"coordinator.begin_cut", "chief", "crash@2"},
    {"coordinator.make_cut", "chief", "crash@2"},
    {"coordinator.drop_torn_cut", "chief", "crash@1", Need::kTornCut},
    {"coordinator.keep_cut", "chief", "crash@2"},
    {"coordinator.add_manifest", "chief", "crash@2"},
    {"coordinator.checkpoint_failed", "chief", "crash@1", Need::kFailedCheckpoint},
    {"coordinator.finish_evaluation", "chief", "crash@2"},
    {"coordinator.release_cut", "chief", "crash@2"},
    {"coordinator.finish_copies", "chief", "crash@2"},
    {"coordinator.delete_expired", "chief", "crash@2"},
    {"coordinator.decide_epoch", "chief", "crash@2"},
    {"coordinator.choose_best", "chief", "crash@1"},
    {"coordinator.end_job", "chief", "crash@1"},
    {"coordinator.begin_deletion", "chief", "crash@1"},
    {"coordinator.confirm_deletion", "chief", "crash@1"},
    {"coordinator.end_deletion", "chief", "crash@1"},
    {"control_loop.event", "chief", "crash@60"},
    {"control_loop.write", "chief", "crash@20"},
    {"control_loop.write", "chief", "error@20"},
    {"control_loop.written", "chief", "crash@30"},
    {"control_loop.commands_sent", "chief", "crash@40"},
    {"control_loop.replies_sent", "chief", "crash@2"},
};

void PrintTo(const Point& point, std::ostream* out) { *out << point.name << "=" << point.action; }

constexpr int kPerEpoch = 80;

// A job that reaches most failpoints: its initial values (zeros) are uploaded, each epoch is
// evaluated, the rate changes, old checkpoints are deleted. In the third and fourth epoch the rate
// is a half, so the sum is that of three epochs.
CountingJob MakeJob(bool synchronous) {
  CountingJob job;
  job.rows = 2048;
  job.batch_size = 2;
  job.batches_per_epoch = kPerEpoch;
  job.batches = 4 * kPerEpoch;
  job.distinct = true;
  if (synchronous) {
    job.strategy = R"({"parameter_server": {"mode": "sync", "batches_per_update": 1}})";
  }
  job.more = R"({
      "checkpoint": {"every_steps": 30, "keep": 1},
      "validation": {"npy": {"features": "v.npy", "labels": "vy.npy"}},
      "callbacks": [
          {"name": "reduce_lr_on_plateau", "monitor": "loss", "patience": 1, "factor": 0.5,
           "min_lr": 0.5},
          {"name": "model_checkpoint", "monitor": "loss", "save_best_only": true}]})";
  return job;
}

std::string SumOfRatesIsNot(CountingJob job, const std::string& folder) {
  job.batches = 3 * kPerEpoch;
  return SumIsNot(job, folder);
}

std::string WriteJob(const CountingJob& job, const std::string& folder) {
  constexpr int kExamples = 16;
  const std::string file = WriteCountingJob(job, folder);
  WriteFile(folder + "/v.npy",
            EncodeNpy({{kExamples, job.rows}, std::vector<float>(kExamples * job.rows, 1)}));
  WriteFile(folder + "/vy.npy", EncodeNpy({{kExamples, 1}, std::vector<float>(kExamples, -1e30f)}));
  const json weights = {
      {{"name", "counter/kernel"}, {"shape", {job.rows, 1}}, {"dtype", "float32"}}};
  const json model = {{"format", "layers-model"},
                      {"modelTopology", json::parse(ReadFile(folder + "/model.json"))},
                      {"weightsManifest", {{{"paths", {"zeros.bin"}}, {"weights", weights}}}}};
  WriteFile(folder + "/model.json", model.dump());
  WriteFile(folder + "/zeros.bin", std::string(job.rows * sizeof(float), '\0'));
  return file;
}

// A cluster of which some tasks are armed. A thread starts those that died again, disarmed.
class ArmedCluster {
 public:
  ArmedCluster() : cluster_(/*ps_count=*/2, /*worker_count=*/2) {
    // How long a command of a ps may hang.
    cluster_.AddFlags("chief", {"--progress_timeout", "5"});
    cluster_.StartAll();
  }

  TestCluster& cluster() { return cluster_; }

  void Arm(const std::string& type, int index, const std::string& failpoint, bool wipe = false) {
    cluster_.task(type, index).Kill();
    if (wipe) cluster_.WipeDisk(index);
    log_begin_[{type, index}] = cluster_.LogOf(type, index).size();
    cluster_.Start(type, index, {"--unsafe_testing", "--failpoint", failpoint});
    armed_.insert({type, index});
  }
  void Watch() {
    stop_ = false;
    thread_ = std::thread([this] {
      while (!stop_) {
        RestartDead();
        std::this_thread::sleep_for(milliseconds(10));
      }
    });
  }
  void EndWatch() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Kills a task and starts it disarmed.
  void Restart(const std::string& type, int index) {
    std::lock_guard<std::mutex> lock(mutex_);
    cluster_.task(type, index).Kill();
    cluster_.Start(type, index);
  }
  bool Fired(const std::string& type, int index, const std::string& name) {
    const std::string log = cluster_.LogOf(type, index).substr(log_begin_[{type, index}]);
    return log.find("failpoint name=" + name + " ") != std::string::npos;
  }
  void Disarm() {
    EndWatch();
    for (const auto& [type, index] : armed_) {
      cluster_.task(type, index).Kill();
      cluster_.Start(type, index);
    }
    armed_.clear();
  }
  ~ArmedCluster() { EndWatch(); }

 private:
  void RestartDead() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [type, index] : armed_) cluster_.Start(type, index);
  }

  TestCluster cluster_;
  std::set<std::pair<std::string, int>> armed_;
  std::map<std::pair<std::string, int>, size_t> log_begin_;
  std::mutex mutex_;  // For the tasks.
  std::thread thread_;
  std::atomic<bool> stop_ = false;
};

class Failpoints : public ::testing::TestWithParam<Point> {
 protected:
  static void TearDownTestSuite() { armed_.reset(); }

  // The cluster lasts for all points, unless one of them failed.
  static TestCluster& cluster() {
    if (armed_ == nullptr) {
      armed_ = std::make_unique<ArmedCluster>();
      for (const bool synchronous : {false, true}) {
        WriteJob(MakeJob(synchronous), armed_->cluster().folder(synchronous ? "sync" : "async"));
      }
    }
    return armed_->cluster();
  }

  static void Submit(bool synchronous);
  static void Provide(Need need);
  static void Export(const std::string& folder);
  static void Delete();

  // Whether this process of the task has joined, not an earlier one.
  static bool HasJoined(const std::string& role, int index) {
    const json member = cluster().Member(role, index);
    return member.value("live", false) &&
           member.value("pid", -1) == cluster().task(role, index).pid();
  }

  static int64_t BatchesDone() {
    return cluster().Status("count").value("batches_done", int64_t{0});
  }
  static void WaitForBatches(int64_t batches) {
    ASSERT_TRUE(WaitUntil(seconds(30), [&] { return BatchesDone() >= batches; }));
  }

  static inline std::unique_ptr<ArmedCluster> armed_;
};

// As a user does: a submit that failed is repeated, after the remains of the first are removed.
void Failpoints::Submit(bool synchronous) {
  const std::string file = cluster().folder(synchronous ? "sync" : "async") + "/job.json";
  std::string errors;
  ASSERT_TRUE(WaitUntil(seconds(30), [&] {
    const CommandResult result = cluster().Cairn({"submit", file});
    if (result.exit_code == 0) return true;
    errors += result.errors;
    // The coordinator may have accepted the job before it died.
    CommandResult jobs;
    WaitUntil(seconds(30), [&] {
      return (jobs = cluster().Cairn({"jobs", "--json"})).exit_code == 0;
    });
    for (const json& job : jobs.lines()) {
      if (job.value("state", "") != "uploading") return true;
      const std::string id = job.at("job").dump();
      cluster().Cairn({"cancel", id});
      cluster().Cairn({"delete", id});
    }
    return false;
  })) << errors;
}

void Failpoints::Provide(Need need) {
  switch (need) {
    case Need::kProfile:
      ASSERT_NO_FATAL_FAILURE(WaitForBatches(10));
      cluster().Cairn({"profile", "count", "--steps", "5", "--timeout", "3"});
      break;
    case Need::kLostCoordinator:
      ASSERT_NO_FATAL_FAILURE(WaitForBatches(50));
      armed_->Restart("chief", 0);
      break;
    case Need::kTornCut: {
      // Both workers wait for ps 1, which refuses pushes for some seconds.
      ASSERT_TRUE(WaitUntil(seconds(30), [] { return armed_->Fired("ps", 1, "ps.push"); }));
      std::this_thread::sleep_for(milliseconds(200));
      std::thread asks([] { cluster().Cairn({"checkpoint", "count"}, seconds(10)); });
      std::this_thread::sleep_for(milliseconds(300));
      for (const int worker : {0, 1}) armed_->Restart("worker", worker);
      asks.join();
      break;
    }
    default:
      break;
  }
}

void Failpoints::Export(const std::string& folder) {
  CommandResult result;
  ASSERT_TRUE(WaitUntil(seconds(30), [&] {
    result = cluster().Cairn({"export", "count", "--output", folder});
    return result.exit_code == 0;
  })) << result.errors;
}

void Failpoints::Delete() {
  ASSERT_TRUE(WaitUntil(seconds(30), [] {
    cluster().Cairn({"delete", "count"});
    const CommandResult jobs = cluster().Cairn({"jobs", "--json"});
    return jobs.exit_code == 0 && jobs.lines().empty();
  }));
  std::string left;
  EXPECT_TRUE(WaitUntil(seconds(30),
                        [&] {
                          left.clear();
                          for (const auto& entry : std::filesystem::recursive_directory_iterator(
                                   cluster().folder("state"))) {
                            const std::string name = entry.path().filename();
                            if (name.rfind("job-", 0) == 0) left += " " + name;
                          }
                          return left.empty();
                        }))
      << "left:" << left;
}

TEST_P(Failpoints, TheSumIsExact) {
  const Point point = GetParam();
  if (point.task == nullptr) GTEST_SKIP() << "see " << point.action;
  cluster();
  armed_->Arm(point.task, 0, std::string(point.name) + "=" + point.action,
              /*wipe=*/point.need == Need::kEmptyDisk);
  if (point.need == Need::kFailedCheckpoint) armed_->Arm("ps", 0, "ps.persist=error@2");
  if (point.need == Need::kTornCut) armed_->Arm("ps", 1, "ps.push=error@61-76");
  // The job must not end before its profile is taken, or its coordinator is killed.
  if (point.need == Need::kProfile || point.need == Need::kLostCoordinator) {
    for (const int worker : {0, 1}) {
      armed_->Arm("worker", worker, "worker.forward=sleep:30@1-1000000000");
    }
  }
  armed_->Watch();
  [&] {
    // Only one worker inspects the data, one that has joined.
    if (std::string_view(point.name).starts_with("worker.inspect")) {
      ASSERT_TRUE(WaitUntil(seconds(30), [] { return HasJoined("worker", 0); }));
    }
    ASSERT_NO_FATAL_FAILURE(Submit(point.need == Need::kSynchronous));
    ASSERT_NO_FATAL_FAILURE(Provide(point.need));
    const json status = cluster().WaitForEnd("count", seconds(60));
    ASSERT_EQ(status.value("state", ""), "finished") << status;
    const std::string folder = cluster().folder(std::string("export-") + point.name);
    ASSERT_NO_FATAL_FAILURE(Export(folder));
    EXPECT_EQ(SumOfRatesIsNot(MakeJob(false), folder), "") << status;
    ASSERT_NO_FATAL_FAILURE(Delete());
  }();
  // The coordinator ends a deletion after the last file is gone.
  EXPECT_TRUE(WaitUntil(seconds(10), [&] { return armed_->Fired(point.task, 0, point.name); }))
      << "the failpoint was not reached";
  armed_->Disarm();
  if (!HasFailure()) return;
  std::cerr << cluster().Logs();
  armed_.reset();
}

INSTANTIATE_TEST_SUITE_P(Each, Failpoints, ::testing::ValuesIn(kPoints), [](const auto& point) {
  std::string name = std::string(point.param.name) + "_" + point.param.action;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(FailpointTable, HasEveryFailpoint) {
  std::set<std::string_view> tested;
  for (const Point& point : kPoints) tested.insert(point.name);
  for (const std::string_view name : kFailpoints) {
    EXPECT_TRUE(tested.contains(name)) << name << " is in no row of this test";
  }
}

}  // namespace
}  // namespace cairn::testing
