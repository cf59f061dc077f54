// `cairn predict` and `cairn evaluate` with --on cluster: the workers of a cluster of real daemons
// compute every row once, in order, whichever processes are killed.

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kRows = 60000;
constexpr int kWidth = 4;
// Each weight of the counting job is -kCount.
constexpr int kCount = 100;

class ClusterInference : public ::testing::Test {
 protected:
  void StartAndTrain(const std::string& file) {
    cluster_.StartAll();
    const CommandResult trained = cluster_.Cairn({"submit", file, "--follow"}, seconds(120));
    ASSERT_EQ(trained.exit_code, 0) << trained.errors << cluster_.Logs();
  }

  // Writes rows i = (i, 0, 0, 0), whose prediction is -kCount * i.
  std::string WriteRows(int64_t rows) {
    std::vector<float> x(rows * kWidth);
    for (int64_t i = 0; i < rows; ++i) x[i * kWidth] = static_cast<float>(i);
    WriteFile(cluster_.folder("rows.npy"), EncodeNpy({{rows, kWidth}, std::move(x)}));
    return cluster_.folder("rows.npy");
  }

  void ExpectRows(const std::string& file, int64_t rows) {
    const Array y = DecodeNpy(ReadFile(file));
    ASSERT_EQ(y.shape, (std::vector<int64_t>{rows, 1}));
    for (int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(y.values[i], static_cast<float>(-kCount * i)) << "row " << i;
    }
  }

  std::string WriteJob() {
    return WriteCountingJob({.batches = kCount, .rows = kWidth, .batches_per_epoch = kCount},
                            cluster_.folder("job"));
  }

  TestCluster cluster_{2, 3};
};

TEST_F(ClusterInference, EveryRowOnceAndInOrderWhicheverProcessesAreKilled) {
  // Each of the 235 results takes 20 ms more: there is time to kill.
  const std::vector<std::string> slow = {
      "--unsafe_testing", "--failpoint",
      absl::StrCat("worker.report=sleep:", 20 * kPatience, "@1-100000")};
  cluster_.AddFlags("worker", slow);
  StartAndTrain(WriteJob());
  const std::string input = WriteRows(kRows);
  const std::string output = cluster_.folder("predicted.npy");
  Process::Options options;
  options.arguments = {ProgramPath("cli/cairn"),
                       "predict",
                       "count",
                       "--input",
                       input,
                       "--output",
                       output,
                       "--on",
                       "cluster",
                       "--coordinator",
                       cluster_.coordinator_address()};
  options.output_file = cluster_.folder("predict.log");
  Process predict(options);
  int kills = 0;
  for (int worker = 0; predict.running() && kills < 50; worker = (worker + 1) % 3) {
    // Long enough for a first result: a worker that is lost three times before it fails.
    std::this_thread::sleep_for(milliseconds(250) * kPatience);
    if (kills == 3) {
      cluster_.task("chief", 0).Kill();
      cluster_.Start("chief", 0);
    }
    cluster_.task("worker", worker).Kill();
    cluster_.Start("worker", worker);
    ++kills;
  }
  ASSERT_EQ(predict.Wait(seconds(60)), 0) << ReadFile(options.output_file) << cluster_.Logs();
  EXPECT_GE(kills, 4) << "the prediction was too short for this test";
  ExpectRows(output, kRows);
}

TEST_F(ClusterInference, TheResultsAreThoseOfThisMachine) {
  std::filesystem::create_directories(cluster_.folder("job"));
  const std::string file = WriteAdamJob(cluster_.folder("job"), {.epochs = 1});
  json job = json::parse(ReadFile(file));
  job["validation"] = job.at("train");
  WriteFile(file, job.dump());
  StartAndTrain(file);
  for (const std::string data : {"validation", "train"}) {
    const CommandResult here = cluster_.Cairn({"evaluate", "sync", "--data", data, "--json"});
    const CommandResult there =
        cluster_.Cairn({"evaluate", "sync", "--data", data, "--json", "--on", "cluster"});
    ASSERT_EQ(there.exit_code, 0) << there.errors << cluster_.Logs();
    EXPECT_EQ(here.lines(), there.lines());
    EXPECT_EQ(there.lines().at(0).at("examples"), 4000);
  }
  const std::string here = cluster_.folder("here.npy");
  const std::string there = cluster_.folder("there.npy");
  const std::string input = cluster_.folder("job/x.npy");
  EXPECT_EQ(cluster_.Cairn({"predict", "sync", "--input", input, "--output", here}).exit_code, 0);
  const CommandResult predicted = cluster_.Cairn(
      {"predict", "sync", "--input", input, "--output", there, "--on", "cluster", "--json"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.errors;
  EXPECT_EQ(predicted.lines().at(0).at("shape"), json({4000, 4}));
  EXPECT_EQ(ReadFile(here), ReadFile(there));
}

TEST_F(ClusterInference, ErrorsNameTheFileAndTheClusterGoesOn) {
  StartAndTrain(WriteJob());
  const std::string output = cluster_.folder("predicted.npy");
  const auto predict = [&](const std::string& input, const std::string& on) {
    return cluster_.Cairn({"predict", "count", "--input", input, "--output", output, "--on", on});
  };
  const CommandResult gone = predict(cluster_.folder("gone.npy"), "cluster");
  EXPECT_NE(gone.exit_code, 0);
  EXPECT_NE(gone.errors.find("gone.npy"), std::string::npos) << gone.errors;
  const CommandResult moon = predict(WriteRows(10), "moon");
  EXPECT_NE(moon.errors.find("--on: moon is neither machine nor cluster"), std::string::npos)
      << moon.errors;
  WriteFile(cluster_.folder("garbage.npy"), "garbage");
  const CommandResult garbage = predict(cluster_.folder("garbage.npy"), "cluster");
  EXPECT_NE(garbage.errors.find("garbage.npy"), std::string::npos) << garbage.errors;
  EXPECT_FALSE(std::filesystem::exists(output));
  ASSERT_EQ(predict(WriteRows(1000), "cluster").exit_code, 0) << cluster_.Logs();
  ExpectRows(output, 1000);
}

// Every worker reads rows.npy of its working directory, which is the same name for all.
TEST_F(ClusterInference, WorkersWithOtherFilesErrorsAndHangsAreNamed) {
  constexpr int64_t kFew = 10000;  // Batches for all workers.
  const std::string points = cluster_.folder("points");
  WriteFile(points, "");
  cluster_.AddFlags("worker", {"--unsafe_testing", "--failpoint_file", points});
  cluster_.AddFlags("chief", {"--progress_timeout", "15"});
  for (int worker = 0; worker < 3; ++worker) {
    const std::string folder = cluster_.folder("disk" + std::to_string(worker));
    std::filesystem::create_directories(folder);
    std::filesystem::copy(WriteRows(kFew), folder);
    cluster_.SetFolder("worker", worker, folder);
  }
  const std::string other = cluster_.folder("disk1/rows.npy");
  std::string bytes = ReadFile(other);
  bytes.back() = 1;
  WriteFile(other, bytes);
  StartAndTrain(WriteJob());
  const std::string output = cluster_.folder("predicted.npy");
  const auto predict = [&] {
    return cluster_.Cairn({"predict", "count", "--input", "/proc/self/cwd/rows.npy", "--output",
                           output, "--on", "cluster"});
  };
  // So slow that all workers are ready before the end.
  WriteFile(points, "worker.read_batch=sleep:50@1-1000");
  const CommandResult different = predict();
  ASSERT_EQ(different.exit_code, 0) << different.errors << cluster_.Logs();
  EXPECT_NE(different.errors.find("its data file /proc/self/cwd/rows.npy differs from that of "),
            std::string::npos)
      << different.errors;

  std::filesystem::copy_file(cluster_.folder("disk0/rows.npy"), other,
                             std::filesystem::copy_options::overwrite_existing);
  WriteFile(points, "worker.read_batch=error@1");
  const CommandResult transient = predict();
  ASSERT_EQ(transient.exit_code, 0) << transient.errors << cluster_.Logs();
  EXPECT_NE(transient.errors.find(" tries again in 1 s: failpoint worker.read_batch"),
            std::string::npos)
      << transient.errors;
  ExpectRows(output, kFew);

  WriteFile(points, "worker.read_batch=hang@1-1000");
  const CommandResult hangs = predict();
  WriteFile(points, "");
  EXPECT_NE(hangs.exit_code, 0);
  for (const char* part : {"waiting for worker 0 (reading), worker 1 (reading), worker 2 (reading)",
                           "is stuck in reading batch"}) {
    EXPECT_NE(hangs.errors.find(part), std::string::npos) << part << ": " << hangs.errors;
  }
  // Until their next heartbeats the workers count as stuck.
  ASSERT_TRUE(WaitUntil(seconds(20), [&] { return predict().exit_code == 0; })) << cluster_.Logs();
  ExpectRows(output, kFew);
}

}  // namespace
}  // namespace cairn::testing
