// In a cluster without parameter servers each worker has all parameters. Workers that are lost cost
// no rollback while one is left: the job ends with the bits of a run without faults.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/drill/fault_proxy.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using Weights = std::map<std::string, Array>;

constexpr int kWorkers = 3;
constexpr int64_t kEpochs = 14;  // 3500 batches.

Weights Train(TestCluster* cluster, const std::string& path,
              const std::function<void()>& meanwhile = nullptr) {
  const CommandResult submitted = cluster->Cairn({"submit", path});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors << cluster->Logs();
  if (meanwhile != nullptr) meanwhile();
  const json status = cluster->WaitForEnd("sync", seconds(120));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster->Logs();
  EXPECT_EQ(status.value("batches_done", -1), status.value("total_batches", 0)) << status;
  const std::string folder = cluster->folder("export");
  const CommandResult exported = cluster->Cairn({"export", "sync", "--output", folder});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(folder);
}

Weights TrainWithoutFaults(const AdamJob& job) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/2);
  cluster.StartAll();
  return Train(&cluster, WriteAdamJob(cluster.folder("."), job));
}

class Replicas : public ::testing::Test {
 protected:
  Replicas() {
    cluster_.SeparateDisks();
    // Each step takes at least 10 ms: the job must not end before the last fault.
    cluster_.AddFlags("worker",
                      {"--unsafe_testing", "--failpoint", "worker.forward=sleep:10@1-1000000000"});
    cluster_.StartAll();
    job_.strategy = {{"multi_worker_mirrored", {{"batches_per_update", 4}}}};
  }

  // Waits until so many workers are there, and so many more batches are done.
  void TrainOn(int64_t batches, int workers = kWorkers) {
    const int64_t end = done_ + batches;
    json status;
    ASSERT_TRUE(WaitUntil(seconds(60),
                          [&] {
                            status = cluster_.Status("sync");
                            done_ = status.value("batches_done", int64_t{0});
                            return done_ >= end && status.value("workers_live", 0) == workers;
                          }))
        << status << cluster_.Logs();
  }
  void KillForGood(const std::vector<int>& workers) {
    for (const int worker : workers) cluster_.task("worker", worker).Kill();
  }
  void Start(const std::vector<int>& workers) {
    for (const int worker : workers) cluster_.Start("worker", worker);
  }
  void Kill(const std::vector<int>& workers) {
    KillForGood(workers);
    Start(workers);
  }
  void WaitForNote(const std::string& text) {
    ASSERT_TRUE(
        WaitUntil(seconds(60),
                  [&] { return cluster_.Status("sync").dump().find(text) != std::string::npos; }))
        << text << cluster_.Logs();
  }
  // The task dies at the failpoint and comes back. `lost`: it may reach the failpoint only when
  // this worker is lost.
  void DieAt(const std::string& type, int index, const std::string& failpoint,
             std::optional<int> lost = std::nullopt) {
    SCOPED_TRACE(failpoint);
    Process& task = cluster_.task(type, index);
    task.Kill();
    std::vector<std::string> flags = {"--failpoint", failpoint};
    if (type == "chief") flags.push_back("--unsafe_testing");
    cluster_.Start(type, index, flags);
    if (lost.has_value()) {
      const int64_t begin = done_;
      ASSERT_TRUE(WaitUntil(seconds(60), [&] {
        const json status = cluster_.Status("sync");
        return !task.running() || (status.value("batches_done", int64_t{0}) >= begin + 40 &&
                                   status.value("workers_live", 0) == kWorkers);
      })) << cluster_.Logs();
      if (task.running()) Kill({*lost});
    }
    ASSERT_TRUE(task.Wait(seconds(60)).has_value()) << cluster_.Logs();
    cluster_.Start(type, index);
    TrainOn(60);
  }
  int64_t Rollbacks() { return cluster_.Status("sync").value("rollbacks", int64_t{-1}); }

  AdamJob job_ = {.epochs = kEpochs, .checkpoint_every = 100};
  TestCluster cluster_{/*ps_count=*/0, kWorkers};
  int64_t done_ = 0;
};

TEST_F(Replicas, LostWorkersCostNoRollbackUntilAllAreLost) {
  const Weights expected = TrainWithoutFaults({.epochs = kEpochs});
  const auto faults = [&] {
    for (const std::vector<int>& workers :
         {std::vector<int>{0}, {1}, {2}, {0, 1}, {1, 2}, {2, 0}}) {
      ASSERT_NO_FATAL_FAILURE(TrainOn(100));
      Kill(workers);
    }
    ASSERT_NO_FATAL_FAILURE(TrainOn(100));
    EXPECT_EQ(Rollbacks(), 0) << cluster_.Logs();
    Kill({0, 1, 2});
    ASSERT_NO_FATAL_FAILURE(TrainOn(100));
    EXPECT_EQ(Rollbacks(), 1) << cluster_.Logs();
    Kill({1});
  };
  ExpectSameBits(expected, Train(&cluster_, WriteAdamJob(cluster_.folder("."), job_), faults));
  EXPECT_EQ(Rollbacks(), 1) << cluster_.Logs();
}

// In every phase of an update's replication and of the recovery, also of the coordinator.
TEST_F(Replicas, AWorkerMayDieAtAnyTime) {
  job_.epochs = 20;  // The job must outlast the deaths, also where processes start slowly.
  const Weights expected = TrainWithoutFaults({.epochs = job_.epochs});
  const auto faults = [&] {
    struct Death {
      const char* type;
      int index;
      const char* failpoint;
      std::optional<int> lost = std::nullopt;
    };
    const std::vector<Death> deaths = {
        // While updates are replicated.
        {"worker", 0, "ps.replicate=crash@31"},
        {"worker", 1, "ps.receive_reduced=crash@40"},
        {"worker", 2, "block.update_applied=crash@50"},
        // While it comes back.
        {"worker", 0, "ps.offer_replicas=crash@1"},
        {"worker", 1, "ps.restored=crash@1"},
        // While another one comes back.
        {"worker", 2, "ps.offer_replicas=crash@2", 1},
        {"worker", 2, "ps.restore=crash@2", 0},
        {"worker", 0, "ps.restored=crash@2", 2},
        {"chief", 0, "coordinator.begin_generation=crash@1", 1},
        {"chief", 0, "coordinator.choose_replicas=crash@1", 2},
        {"chief", 0, "coordinator.begin_training=crash@2", 0},
        // During a checkpoint.
        {"worker", 0, "ps.cut_made=crash@1"},
        {"worker", 1, "ps.persisted=crash@1"},
    };
    TrainOn(60);
    for (const Death& death : deaths) {
      ASSERT_NO_FATAL_FAILURE(DieAt(death.type, death.index, death.failpoint, death.lost));
    }
    EXPECT_EQ(Rollbacks(), 0) << cluster_.Logs();
  };
  ExpectSameBits(expected, Train(&cluster_, WriteAdamJob(cluster_.folder("."), job_), faults));
  EXPECT_EQ(Rollbacks(), 0) << cluster_.Logs();
}

// Machines that are lost: the others take over their blocks, and give them back.
TEST_F(Replicas, TheOthersGoOnWithoutWorkersThatStayAway) {
  const Weights expected = TrainWithoutFaults({.epochs = kEpochs});
  cluster_.AddFlags("chief", {"--lease_seconds", "4", "--rejoin_timeout", "2"});
  cluster_.task("chief", 0).Kill();
  cluster_.Start("chief", 0);
  const auto faults = [&] {
    ASSERT_NO_FATAL_FAILURE(TrainOn(60));
    KillForGood({2});
    ASSERT_NO_FATAL_FAILURE(WaitForNote("goes on without ps 2"));
    ASSERT_NO_FATAL_FAILURE(TrainOn(200, 2));
    cluster_.task("chief", 0).Kill();
    cluster_.Start("chief", 0);
    ASSERT_NO_FATAL_FAILURE(TrainOn(60, 2));
    Start({2});
    ASSERT_NO_FATAL_FAILURE(WaitForNote("ps 2 takes part again"));
    ASSERT_NO_FATAL_FAILURE(TrainOn(60));
    // It has all blocks again.
    Kill({0, 1});
    ASSERT_NO_FATAL_FAILURE(TrainOn(60));
    KillForGood({0, 2});
    ASSERT_NO_FATAL_FAILURE(WaitForNote("goes on without ps 0"));
    ASSERT_NO_FATAL_FAILURE(TrainOn(200, 1));
    Start({0});
    ASSERT_NO_FATAL_FAILURE(WaitForNote("ps 0 takes part again"));
    Start({2});
    ASSERT_NO_FATAL_FAILURE(TrainOn(100));
    EXPECT_EQ(Rollbacks(), 0) << cluster_.Logs();
    // All are lost, and one does not come back.
    KillForGood({0, 1, 2});
    Start({0, 2});
    ASSERT_NO_FATAL_FAILURE(WaitForNote("goes on without ps 1"));
    ASSERT_NO_FATAL_FAILURE(TrainOn(100, 2));
    EXPECT_EQ(Rollbacks(), 1) << cluster_.Logs();
    Start({1});
    ASSERT_NO_FATAL_FAILURE(WaitForNote("ps 1 takes part again"));
  };
  ExpectSameBits(expected, Train(&cluster_, WriteAdamJob(cluster_.folder("."), job_), faults));
  EXPECT_EQ(Rollbacks(), 1) << cluster_.Logs();
}

using cli::LinkFault;

// Members that reach the coordinator, and lastingly not each other.
class CutOffMembers : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.SeparateDisks();
    cluster_.AddFlags("chief", {"--progress_timeout", "2"});
    // Each step takes at least 10 ms.
    cluster_.AddFlags("worker",
                      {"--unsafe_testing", "--failpoint", "worker.forward=sleep:10@1-1000000000"});
  }

  // What `from` sends to `to` passes through a link, whose number is returned.
  int LinkOf(int from, int to) {
    const std::string address = absl::StrCat("127.0.0.1:", cluster_.port("worker", to));
    const auto link = network_.AddLink(address);
    EXPECT_TRUE(link.ok()) << link.status();
    std::vector<std::string>& flags = routes_[from];
    flags.insert(flags.end(), {"--route", absl::StrCat(address, "=", link->address)});
    return link->id;
  }
  void StartAll() {
    for (const auto& [worker, flags] : routes_) cluster_.Start("worker", worker, flags);
    cluster_.StartAll();
  }
  void SetFault(const std::vector<int>& links, LinkFault::Kind kind) {
    for (const int link : links) network_.SetFault(link, {kind}, {kind});
  }

  void Submit(int64_t epochs) {
    job_.strategy = R"({"multi_worker_mirrored": {"batches_per_update": 4}})";
    job_.batches_per_epoch = 400;
    job_.batches = epochs * job_.batches_per_epoch;
    job_.distinct = true;
    job_.batches_per_update = 4;
    const CommandResult submitted =
        cluster_.Cairn({"submit", WriteCountingJob(job_, cluster_.folder("job"))});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.errors << cluster_.Logs();
    TrainOn();
  }
  json Status() { return cluster_.Status("count"); }
  int Count(const std::string& text) {
    int count = 0;
    for (const json& note : Status().value("notes", json::array())) {
      count += absl::StrContains(note.dump(), text) ? 1 : 0;
    }
    return count;
  }
  void WaitForNote(const std::string& text, int count = 1) {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return Count(text) >= count; }))
        << text << Status() << cluster_.Logs();
  }
  void TrainOn() {
    const int64_t end = Status().value("batches_done", int64_t{0}) + 100;
    ASSERT_TRUE(
        WaitUntil(seconds(60), [&] { return Status().value("batches_done", int64_t{0}) >= end; }))
        << Status() << cluster_.Logs();
  }
  // Whether the worker has done batches in the last seconds.
  bool Works(int worker) {
    const json rate = cluster_.Member("worker", worker)["batches_per_second"];
    return rate.is_number() && rate.get<double>() > 0;
  }
  void ExpectExactEnd(int rollbacks, int workers_lost = 0) {
    const json status = cluster_.WaitForEnd("count", seconds(120));
    ASSERT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
    EXPECT_EQ(status.value("rollbacks", -1), rollbacks) << status;
    EXPECT_EQ(status.value("workers_lost", -1), workers_lost) << status;
    const CommandResult exported =
        cluster_.Cairn({"export", "count", "--output", cluster_.folder("export")});
    ASSERT_EQ(exported.exit_code, 0) << exported.errors;
    EXPECT_EQ(SumIsNot(job_, cluster_.folder("export")), "");
  }

  CountingJob job_;
  TestCluster cluster_{/*ps_count=*/0, kWorkers};
  cli::FaultProxy network_;
  std::map<int, std::vector<std::string>> routes_;
};

// A job of one block: the others have replicas, and no blocks.
TEST_F(CutOffMembers, AJobWithFewerBlocksThanWorkersGoesOnWithoutOneThatStaysAway) {
  cluster_.AddFlags("chief", {"--lease_seconds", "3", "--rejoin_timeout", "1"});
  StartAll();
  job_.more = R"({"partitioner": {"fixed_shards": 1}})";
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/4));
  // The owner of the block, and one without.
  for (const int worker : {0, 2}) cluster_.task("worker", worker).Kill();
  ASSERT_NO_FATAL_FAILURE(WaitForNote("goes on without ps 0"));
  ASSERT_NO_FATAL_FAILURE(TrainOn());
  for (const int worker : {0, 2}) cluster_.Start("worker", worker);
  ASSERT_NO_FATAL_FAILURE(WaitForNote("takes part again"));
  ExpectExactEnd(/*rollbacks=*/0, /*workers_lost=*/2);
}

TEST_F(CutOffMembers, OneOfTwoThatDoNotReachEachOtherLeavesUntilTheyDo) {
  const int from_2_to_0 = LinkOf(2, 0);
  const int from_1_to_0 = LinkOf(1, 0);
  StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/10));
  // A connection that is back in time has no consequence.
  SetFault({from_2_to_0}, LinkFault::Kind::kClose);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  SetFault({from_2_to_0}, LinkFault::Kind::kNone);
  ASSERT_NO_FATAL_FAILURE(TrainOn());
  EXPECT_EQ(Status().value("generation", 0), 1);
  // Of one pair, the one with the higher number. Then the one that reaches no other.
  const struct {
    std::vector<int> links;
    LinkFault::Kind kind;
    int leaves;
  } gaps[] = {{{from_2_to_0}, LinkFault::Kind::kClose, 2},
              {{from_2_to_0, from_1_to_0}, LinkFault::Kind::kHold, 0}};
  for (const auto& [links, kind, leaves] : gaps) {
    SetFault(links, kind);
    const std::string ps = absl::StrCat("ps ", leaves);
    ASSERT_NO_FATAL_FAILURE(WaitForNote("the job goes on without " + ps));
    ASSERT_NO_FATAL_FAILURE(TrainOn());
    EXPECT_TRUE(absl::StrContains(cluster_.Member("ps", 0).dump(), "does not answer ps "))
        << cluster_.Member("ps", 0);
    EXPECT_TRUE(WaitUntil(seconds(60), [&] { return !Works(leaves); }));
    SetFault(links, LinkFault::Kind::kNone);
    ASSERT_NO_FATAL_FAILURE(WaitForNote(ps + " takes part again"));
    EXPECT_TRUE(WaitUntil(seconds(60), [&] { return Works(leaves); })) << Status();
    ASSERT_NO_FATAL_FAILURE(TrainOn());
  }
  ExpectExactEnd(/*rollbacks=*/0);
  EXPECT_GT(network_.effects(), 0);
}

}  // namespace
}  // namespace cairn::testing
