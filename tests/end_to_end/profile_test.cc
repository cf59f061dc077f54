// `cairn profile` of a running job on real daemons.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"
#include "tests/worker/data/images/image_bytes.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ProfileTest : public ::testing::Test {
 protected:
  ProfileTest() : cluster_(2, 2) { cluster_.StartAll(); }

  // A job that outlasts the test.
  void Train() {
    CountingJob job;
    job.batches_per_epoch = 100000;
    job.batches = 50 * job.batches_per_epoch;
    job.batch_size = 1;
    const CommandResult result =
        cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder("job"))});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      const json status = cluster_.Status("count");
      return status.value("batches_done", 0) > 100 && status.value("workers_live", 0) == 2;
    }));
  }

  TestCluster cluster_;
};

TEST_F(ProfileTest, EveryTaskSaysWhereItsTimeWent) {
  ASSERT_NO_FATAL_FAILURE(Train());
  const std::string trace = cluster_.folder("trace.json");
  const CommandResult result =
      cluster_.Cairn({"profile", "count", "--steps", "20", "--json", "--trace", trace});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::set<std::string> tasks;
  for (const json& task : result.lines()) {
    tasks.insert(task["task"]);
    const bool is_worker = task["steps"] > 0;
    EXPECT_EQ(task["phases"].size(), is_worker ? 6 : 3) << task;
    EXPECT_EQ(task["layers"].size() >= 2, is_worker) << task;  // The layer and the loss.
    double sum = 0;
    for (const json& phase : task["phases"]) {
      EXPECT_GT(phase["count"], 0) << task;
      sum += phase["seconds"].get<double>();
    }
    if (!is_worker) continue;
    EXPECT_EQ(task["steps"], 20);
    EXPECT_NEAR(sum, task["seconds"].get<double>(), 1e-9);
  }
  EXPECT_EQ(tasks, (std::set<std::string>{"worker 0", "worker 1", "ps 0", "ps 1"}));
  const json events = json::parse(ReadFile(trace))["traceEvents"];
  EXPECT_GT(events.size(), 2 * 20 * 6);
}

TEST_F(ProfileTest, ATableIsForPeopleAndAJobThatDoesNotTrainIsRefused) {
  const CommandResult unknown = cluster_.Cairn({"profile", "count"});
  EXPECT_EQ(unknown.exit_code, 2);
  ASSERT_NO_FATAL_FAILURE(Train());
  const CommandResult result = cluster_.Cairn({"profile", "count", "--steps", "5"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("worker 0: 5 steps"));
  EXPECT_THAT(result.output, HasSubstr("compute"));
  EXPECT_THAT(result.output, HasSubstr("ps 1:"));
  ASSERT_EQ(cluster_.Cairn({"cancel", "count"}).exit_code, 0);
  const CommandResult refused = cluster_.Cairn({"profile", "count"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("does not train now"));
}

// One worker that keeps no data in memory.
class LoadingTest : public ::testing::Test {
 protected:
  LoadingTest() : files_(cluster_.FilesOf("worker", 0)) {
    cluster_.AddFlags("worker", {"--data_memory", "0"});
    cluster_.StartAll();
  }

  static CountingJob Job(int rows) {
    CountingJob job;
    job.batches_per_epoch = 10;
    job.batches = 100000 * job.batches_per_epoch;
    job.rows = rows;
    return job;
  }

  void Submit(const std::string& job_file) {
    const CommandResult result = cluster_.Cairn({"submit", job_file});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      return cluster_.Status("count").value("batches_done", 0) > 20;
    })) << cluster_.Logs();
  }

  json ProfileOfWorker() {
    const CommandResult result = cluster_.Cairn({"profile", "count", "--steps", "20", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    for (const json& task : result.lines()) {
      if (task["task"] == "worker 0") return task;
    }
    return {};
  }

  // Milliseconds a batch.
  static double TimeOf(const json& worker, const std::string& name) {
    const json& loading = worker["loading"];
    return 1e3 * loading[name].get<double>() / loading["batches"].get<double>();
  }

  static double ShareOfData(const json& worker) {
    for (const json& phase : worker["phases"]) {
      if (phase["name"] == "data") {
        return phase["seconds"].get<double>() / worker["seconds"].get<double>();
      }
    }
    return -1;
  }

  TestCluster cluster_{/*ps_count=*/1, /*worker_count=*/1};
  FaultyFiles& files_;
};

TEST_F(LoadingTest, ASourceThatIsSlowToReadIsShownAsReading) {
  CountingJob job = Job(/*rows=*/4);
  job.batch_size = 32;
  ASSERT_NO_FATAL_FAILURE(Submit(WriteCountingJob(job, cluster_.folder("job"))));
  // A read for each row, and 5 ms more for each read.
  const double slow = 5.0 * static_cast<double>(job.batch_size);
  EXPECT_LT(TimeOf(ProfileOfWorker(), "reading_seconds"), slow);
  files_.Set({{"read", "/x.npy", FaultyFiles::kSlow}});
  const json worker = ProfileOfWorker();
  EXPECT_GE(TimeOf(worker, "reading_seconds"), slow) << worker;
  EXPECT_LT(TimeOf(worker, "decoding_seconds"), slow / 2) << worker;
  EXPECT_GT(ShareOfData(worker), 0.5) << worker;
}

// Images of nine megapixels become examples of 8 x 8, and are decoded in each epoch.
TEST_F(LoadingTest, ASourceThatIsSlowToDecodeIsShownAsDecoding) {
  constexpr int kSide = 3072;
  CountingJob job = Job(/*rows=*/64);
  job.batches_per_epoch = 200;  // An end of an epoch is a pause.
  job.more = json{{"model", "image_model.json"},
                  {"train", {{"images", {{"table", "images.csv"}, {"label_column", "y"}}}}}}
                 .dump();
  const std::string folder = cluster_.folder("job");
  const std::string job_file = WriteCountingJob(job, folder);
  std::string pixels(kSide * kSide, '\0');
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i * i % 251);
  std::string table = "filename,y\n";
  const auto image = [&folder](int64_t i) { return folder + "/" + std::to_string(i) + ".png"; };
  const int64_t images = 2 * job.batch_size;
  for (int64_t i = 0; i < images; ++i) WriteFile(image(i), PngBytes(kSide, kSide, 1, pixels));
  for (int64_t i = 0; i < job.batches_per_epoch * job.batch_size; ++i) {
    table += image(i % images) + ",-1e30\n";
  }
  WriteFile(folder + "/images.csv", table);
  json model = json::parse(ReadFile(folder + "/model.json"));
  json& layers = model["config"]["layers"];
  layers[0]["config"].erase("batch_input_shape");
  const json input = {{"name", "in"}, {"batch_input_shape", {nullptr, 8, 8, 1}}};
  const json flat = {{"class_name", "Flatten"}, {"config", {{"name", "flat"}}}};
  layers = {json{{"class_name", "InputLayer"}, {"config", input}}, flat, layers[0]};
  WriteFile(folder + "/image_model.json", model.dump());
  ASSERT_NO_FATAL_FAILURE(Submit(job_file));
  const json worker = ProfileOfWorker();
  EXPECT_GT(TimeOf(worker, "decoding_seconds"), 2 * TimeOf(worker, "reading_seconds")) << worker;
  EXPECT_GT(ShareOfData(worker), 0.5) << worker;
}

}  // namespace
}  // namespace cairn::testing
