// Strategies without parameter servers. A strategy changes where the parameters are, never the
// numbers: each ends with the bits of synchronous parameter servers.

#include <signal.h>

#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using Weights = std::map<std::string, Array>;

const json kMultiWorker = {{"multi_worker_mirrored", {{"batches_per_update", 4}}}};

Weights Export(TestCluster* cluster, const std::string& job) {
  const std::string folder = cluster->folder("export-" + job);
  const CommandResult exported = cluster->Cairn({"export", job, "--output", folder});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(folder);
}

void Submit(TestCluster* cluster, const AdamJob& job) {
  // It waits until all workers have joined.
  const CommandResult submitted =
      cluster->Cairn({"submit", WriteAdamJob(cluster->folder("."), job)});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors << cluster->Logs();
}

Weights Train(TestCluster* cluster, const AdamJob& job,
              const std::function<void()>& meanwhile = nullptr) {
  Submit(cluster, job);
  if (meanwhile != nullptr) meanwhile();
  const json status = cluster->WaitForEnd(job.name, seconds(120));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster->Logs();
  return Export(cluster, job.name);
}

// The reference: synchronous parameter servers.
Weights TrainOnPs(const AdamJob& job) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/2);
  cluster.StartAll();
  return Train(&cluster, job);
}

struct Place {
  int workers;
  std::string devices;  // Of each worker.
  json strategy;        // Null: none is said.
};

TEST(Strategies, EachEndsWithTheBitsOfSynchronousParameterServers) {
  const std::string four = "cpu:0,cpu:1,cpu:2,cpu:3";
  const std::vector<Place> places = {
      {1, "cpu", kMultiWorker},
      {2, "cpu", kMultiWorker},
      {4, "cpu", kMultiWorker},
      {1, four, {{"mirrored", {{"devices", {"cpu:0", "cpu:1", "cpu:2", "cpu:3"}}}}}},
      {1, four, {{"mirrored", json::object()}}},
      {1, four, {{"central_storage", {{"parameter_device", "cpu"}}}}},
      {2, "cpu:0,cpu:1", json::object()},
  };
  const AdamJob job = {.epochs = 4};
  const Weights expected = TrainOnPs(job);
  for (const Place& place : places) {
    SCOPED_TRACE(std::to_string(place.workers) + " workers, " + place.devices + ", " +
                 place.strategy.dump());
    TestCluster cluster(/*ps_count=*/0, place.workers);
    cluster.AddFlags("worker", {"--device", place.devices});
    cluster.StartAll();
    AdamJob placed = job;
    placed.strategy = place.strategy;
    ExpectSameBits(expected, Train(&cluster, placed));
  }
}

TEST(Strategies, OneDeviceIsSynchronousWithUpdatesOfOneBatch) {
  const Weights expected = TrainOnPs({.batches_per_update = 1, .epochs = 2});
  for (const json& strategy : {json{{"one_device", {{"device", "cpu"}}}}, json::object()}) {
    TestCluster cluster(/*ps_count=*/0, /*worker_count=*/1);
    cluster.StartAll();
    ExpectSameBits(expected, Train(&cluster, {.epochs = 2, .strategy = strategy}));
  }
}

int CountOf(const std::string& word, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// Named as in TensorFlow. A job uses these only.
TEST(Strategies, NamesSelectDevices) {
  struct Case {
    json strategy;
    int devices;
  };
  const std::vector<Case> cases = {
      {{{"mirrored", {{"devices", {"/cpu:0", "/cpu:2"}}}}}, 2},
      {{{"central_storage", {{"compute_devices", {"cpu:1", "/device:CPU:2"}}}}}, 2},
      {{{"one_device", {{"device", "/cpu:1"}}}}, 1},
  };
  for (const Case& named : cases) {
    SCOPED_TRACE(named.strategy.dump());
    const Weights expected = TrainOnPs({.batches_per_update = named.devices, .epochs = 1});
    TestCluster cluster(/*ps_count=*/0, /*worker_count=*/1);
    cluster.AddFlags("worker", {"--device", "cpu:0,cpu:1,cpu:2"});
    cluster.StartAll();
    ExpectSameBits(expected, Train(&cluster, {.epochs = 1, .strategy = named.strategy}));
    EXPECT_EQ(CountOf("starting job", cluster.LogOf("worker", 0)), named.devices);
  }
}

TEST(Strategies, KilledWorkersComeBackAndTheBitsStay) {
  const AdamJob job = {.checkpoint_every = 100};
  const Weights expected = TrainOnPs(job);
  constexpr int kWorkers = 3;
  TestCluster cluster(/*ps_count=*/0, kWorkers);
  cluster.SeparateDisks();
  cluster.StartAll();
  AdamJob placed = job;
  placed.strategy = kMultiWorker;
  std::mt19937 random(5);
  const auto kill_some = [&] {
    for (int kills = 1; kills <= 5; ++kills) {
      ASSERT_TRUE(WaitUntil(seconds(60), [&] {
        const json status = cluster.Status(job.name);
        return status.value("batches_done", 0) >= 250 * kills &&
               status.value("workers_live", 0) == kWorkers;
      })) << cluster.Logs();
      if (kills == 3) {
        cluster.KillAll();
        cluster.StartAll();
        continue;
      }
      const int index = static_cast<int>(random() % kWorkers);
      cluster.task("worker", index).Kill();
      cluster.Start("worker", index);
    }
  };
  ExpectSameBits(expected, Train(&cluster, placed, kill_some));
  const json status = cluster.Status(job.name);
  EXPECT_EQ(status.value("batches_done", 0), 12 * 250) << status;
  EXPECT_GT(status.value("workers_lost", 0), 0) << status;
  EXPECT_EQ(status.value("rollbacks", -1), 1) << status;  // When all were killed.
}

// As in most textbooks.
TEST(Strategies, WithoutAChiefWorker0StandsIn) {
  const AdamJob job = {.checkpoint_every = 100};
  const Weights expected = TrainOnPs(job);
  TestCluster cluster(/*ps_count=*/0, /*worker_count=*/2);
  cluster.Resize("chief", 0);
  cluster.StartAll();
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return cluster.Cairn({"jobs"}).exit_code == 0; }))
      << cluster.Logs();
  AdamJob placed = job;
  placed.strategy = kMultiWorker;
  const auto kill_both = [&] {
    for (const int index : {0, 1}) {
      ASSERT_TRUE(WaitUntil(seconds(60), [&] {
        const json status = cluster.Status(job.name);
        return status.value("batches_done", 0) >= 400 * (index + 1) &&
               status.value("workers_live", 0) == 2;
      })) << cluster.Logs();
      cluster.task("worker", index).Kill();
      cluster.Start("worker", index);
    }
  };
  ExpectSameBits(expected, Train(&cluster, placed, kill_both));
  EXPECT_EQ(cluster.Status(job.name).value("rollbacks", -1), 0) << cluster.Logs();
  for (const int index : {1, 0}) {
    cluster.task("worker", index).Signal(SIGTERM);
    EXPECT_EQ(cluster.task("worker", index).Wait(seconds(60)).value_or(-1), 143);
  }
}

TEST(Strategies, Worker0HandsFlagsToTheCoordinatorThatItStarts) {
  TestCluster cluster(/*ps_count=*/0, /*worker_count=*/1);
  cluster.Resize("chief", 0);
  cluster.Start("worker", 0, {"--coordinator_flag", "lease_seconds=0"});
  EXPECT_EQ(cluster.task("worker", 0).Wait(seconds(60)).value_or(-1), 1);
  EXPECT_NE(cluster.Logs().find("--lease_seconds: \"0\" is not a number from 2 to 3600"),
            std::string::npos)
      << cluster.Logs();
}

// Also with parameter servers, and back: the blocks are the same.
TEST(Strategies, AJobGoesOnWithAnyNumberOfWorkersAndOfPs) {
  const AdamJob job = {.checkpoint_every = 100};
  const Weights expected = TrainOnPs(job);
  TestCluster cluster(/*ps_count=*/0, /*worker_count=*/3);
  AdamJob placed = job;
  placed.strategy = kMultiWorker;
  cluster.StartAll();
  Submit(&cluster, placed);
  int64_t done = 500;
  for (const auto& [ps, workers] : {std::pair(0, 1), std::pair(2, 4), std::pair(0, 2)}) {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      return cluster.Status(job.name).value("batches_done", 0) >= done;
    })) << cluster.Logs();
    done += 500;
    cluster.KillAll();
    cluster.Resize("worker", workers);
    cluster.Resize("ps", ps);
    cluster.StartAll();
  }
  const json status = cluster.WaitForEnd(job.name, seconds(120));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster.Logs();
  ExpectSameBits(expected, Export(&cluster, job.name));
}

// As in textbooks: TF_CONFIG has no chief, and may name the evaluator or not. It computes what a
// worker would.
TEST(Strategies, AnEvaluatorMayBeInsideOrOutsideOfTheCluster) {
  std::vector<json> losses;
  for (const int named : {0, 1}) {
    TestCluster cluster(/*ps_count=*/0, /*worker_count=*/2);
    cluster.Resize("chief", 0);
    cluster.Resize("evaluator", named);
    cluster.StartAll();
    cluster.Start("evaluator", 0);
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      for (const json& member : cluster.Cairn({"cluster", "--json"}).lines()) {
        if (member.value("role", "") == "evaluator" && member.value("live", false)) return true;
      }
      return false;
    })) << cluster.Logs();
    const std::string path =
        WriteAdamJob(cluster.folder("."), {.epochs = 2, .strategy = kMultiWorker});
    json job = json::parse(ReadFile(path));
    job["validation_fraction"] = 0.25;
    WriteFile(path, job.dump());
    const CommandResult result = cluster.Cairn({"submit", path, "--follow"});
    EXPECT_EQ(result.exit_code, 0) << result.errors << cluster.Logs();
    losses.push_back(cluster.Status("sync").at("evaluations"));
    EXPECT_NE(cluster.LogOf("evaluator", 0).find("starting job"), std::string::npos);
  }
  EXPECT_EQ(losses[0], losses[1]);
}

// Trains a job, and then another one that begins with its weights.
Weights TrainTwice(TestCluster* cluster, const json& strategy,
                   const std::function<void()>& meanwhile = nullptr) {
  AdamJob job = {.name = "first", .epochs = 2, .strategy = strategy};
  Train(cluster, job);
  job.name = "second";
  job.epochs = 6;
  const std::string path = WriteAdamJob(cluster->folder("."), job);
  json file = json::parse(ReadFile(path));
  file["model"] = cluster->folder("export-first/model.json");
  WriteFile(path, file.dump());
  const CommandResult submitted = cluster->Cairn({"submit", path});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors << cluster->Logs();
  if (meanwhile != nullptr) meanwhile();
  const json status = cluster->WaitForEnd("second", seconds(120));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster->Logs();
  return Export(cluster, "second");
}

// The client uploads the weights to all workers.
TEST(Strategies, TrainedWeightsAreAStart) {
  std::vector<Weights> results;
  for (const int ps : {2, 0}) {
    TestCluster cluster(ps, /*worker_count=*/2);
    cluster.StartAll();
    results.push_back(TrainTwice(&cluster, ps == 0 ? kMultiWorker : json()));
  }
  ExpectSameBits(results[0], results[1]);
}

// One of three workers has not even been started. It gets its part when it is.
TEST(Strategies, JobsBeginWithoutAWorkerThatIsAbsentAndTakeItInLater) {
  TestCluster with_ps(/*ps_count=*/2, /*worker_count=*/2);
  with_ps.StartAll();
  const Weights expected = TrainTwice(&with_ps, nullptr);
  with_ps.KillAll();
  TestCluster cluster(/*ps_count=*/0, /*worker_count=*/3);
  cluster.SeparateDisks();
  cluster.AddFlags("chief", {"--lease_seconds", "3", "--rejoin_timeout", "3"});
  cluster.AddFlags("worker",
                   {"--unsafe_testing", "--failpoint", "worker.forward=sleep:10@1-1000000000"});
  cluster.Start("chief", 0);
  for (const int worker : {0, 2}) cluster.Start("worker", worker);
  const auto join_later = [&] {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      return cluster.Status("second").value("batches_done", 0) >= 200;
    })) << cluster.Logs();
    cluster.Start("worker", 1);
    ASSERT_TRUE(WaitUntil(seconds(60),
                          [&] {
                            return cluster.Status("second").dump().find("ps 1 takes part again") !=
                                   std::string::npos;
                          }))
        << cluster.Status("second") << cluster.Logs();
    const int64_t done = cluster.Status("second").value("batches_done", int64_t{0});
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      return cluster.Status("second").value("batches_done", int64_t{0}) >= done + 60;
    })) << cluster.Logs();
    // It has all blocks now: the others are lost, and it goes on with what it has.
    for (const int worker : {0, 2}) cluster.task("worker", worker).Kill();
    ASSERT_TRUE(WaitUntil(seconds(60),
                          [&] {
                            return cluster.Status("second").dump().find("goes on without ps 0") !=
                                   std::string::npos;
                          }))
        << cluster.Status("second") << cluster.Logs();
  };
  ExpectSameBits(expected, TrainTwice(&cluster, kMultiWorker, join_later));
  EXPECT_NE(cluster.Status("first").value("state", ""), "uploading");
  EXPECT_EQ(cluster.Status("second").value("rollbacks", -1), 0) << cluster.Status("second");
}

// The files of snapshots and uploads of a job, in all state directories in the folder.
int64_t SnapshotsOf(const std::string& folder, int64_t job) {
  int64_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    count += name.rfind("job-" + std::to_string(job) + ".", 0) == 0 ? 1 : 0;
  }
  return count;
}

// A ps hangs while weights are uploaded to it.
TEST(Strategies, AnUploadThatGetsNoAnswerCancelsItsJobAndFreesItsSpace) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/1);
  cluster.StartAll();
  AdamJob job = {.name = "first", .epochs = 1};
  Train(&cluster, job);
  job.name = "second";
  const std::string path = WriteAdamJob(cluster.folder("."), job);
  json file = json::parse(ReadFile(path));
  file["model"] = cluster.folder("export-first/model.json");
  WriteFile(path, file.dump());
  cluster.task("ps", 1).Signal(SIGSTOP);
  const CommandResult submitted = cluster.Cairn({"submit", path});
  cluster.task("ps", 1).Signal(SIGCONT);
  EXPECT_EQ(submitted.exit_code, 3) << submitted.errors;
  EXPECT_NE(submitted.errors.find("the weights of job 2 were not uploaded: no answer for 30 s from "
                                  "ps 1"),
            std::string::npos)
      << submitted.errors;
  EXPECT_EQ(cluster.Status("second").value("state", ""), "cancelled");
  EXPECT_TRUE(WaitUntil(seconds(30), [&] { return SnapshotsOf(cluster.folder("."), 2) == 0; }));
  EXPECT_GT(SnapshotsOf(cluster.folder("."), 1), 0);
}

TEST(Strategies, AJobThatDoesNotFitTheClusterIsRefused) {
  TestCluster with_ps(/*ps_count=*/1, /*worker_count=*/1);
  TestCluster workers(/*ps_count=*/0, /*worker_count=*/2);
  TestCluster worker(/*ps_count=*/0, /*worker_count=*/1);
  for (TestCluster* const cluster : {&with_ps, &workers, &worker}) cluster->StartAll();
  Train(&worker, {.epochs = 1, .strategy = json::object()});  // Its worker has joined.
  const json ps = {{"parameter_server", {{"mode", "async"}}}};
  const json mirrored = {{"mirrored", {{"devices", {"cpu:0", "cpu:1"}}}}};
  const json gpu = {{"one_device", {{"device", "/gpu:0"}}}};
  const json wide = {{"multi_worker_mirrored", {{"batches_per_update", 1000}}}};
  struct Case {
    TestCluster* cluster;
    json strategy;
    std::string message;
  };
  const std::vector<Case> cases = {
      {&with_ps, kMultiWorker, "multi_worker_mirrored: is for a cluster without parameter servers"},
      {&with_ps, mirrored, "strategy.mirrored: is for a cluster without parameter servers"},
      {&workers, ps, "strategy.parameter_server: needs parameter servers, this cluster has none"},
      {&workers, mirrored, "strategy.mirrored: is for a cluster of 1 worker, this one has 2 work"},
      {&worker, mirrored, "strategy.mirrored: the worker has no device cpu:1; it has cpu:0"},
      {&worker, gpu, "strategy.one_device: the worker has no device cuda:0; it has cpu:0"},
  };
  for (const Case& refused : cases) {
    const AdamJob job = {.name = "refused", .strategy = refused.strategy};
    const CommandResult result =
        refused.cluster->Cairn({"submit", WriteAdamJob(refused.cluster->folder("."), job)});
    EXPECT_EQ(result.exit_code, 2) << refused.strategy;
    EXPECT_NE(result.errors.find(refused.message), std::string::npos) << result.errors;
  }
  // Known only when the data has been counted.
  const CommandResult result = worker.Cairn(
      {"submit", WriteAdamJob(worker.folder("."), {.name = "wide", .epochs = 1, .strategy = wide}),
       "--follow"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.errors.find("batches_per_update: 1000 is more than the job's 250 batches"),
            std::string::npos)
      << result.output << result.errors;
}

}  // namespace
}  // namespace cairn::testing
