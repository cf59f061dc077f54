// Callbacks, class weights and fine-tuning with real daemons. The loss of the counting job never
// improves. Its weight is minus the sum of the learning rates of its batches, so the weight shows
// the rates that were used.

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr int64_t kPerEpoch = 500;
constexpr int kPlateaus = 6;

// At most 40 epochs. Halves the learning rate after each epoch without improvement, and stops after
// kPlateaus of them.
CountingJob PlateauJob() {
  CountingJob job;
  job.batches_per_epoch = kPerEpoch;
  job.batches = 40 * kPerEpoch;
  job.checkpoint_every = 200;
  job.more = R"({"callbacks": [
      {"name": "reduce_lr_on_plateau", "monitor": "loss", "patience": 1, "factor": 0.5},
      {"name": "early_stopping", "monitor": "loss", "patience": 6},
      {"name": "model_checkpoint", "monitor": "loss", "save_best_only": true}]})";
  return job;
}

// The first epoch always counts as an improvement; the second is the first without one.
double SumOfRates() {
  double sum = 1, rate = 1;
  for (int epoch = 1; epoch <= kPlateaus; ++epoch, rate /= 2) sum += rate;
  return sum * kPerEpoch;
}

class CallbacksTest : public ::testing::Test {
 protected:
  CallbacksTest() : cluster_(2, 2) { cluster_.StartAll(); }

  void Submit(const CountingJob& job, const std::string& folder = "job") {
    const CommandResult result =
        cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder(folder))});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
    submitted_ = result.output;
  }

  int64_t BatchesDone() {
    const json status = cluster_.Status("count");
    return status.value("batches_done", int64_t{0});
  }

  std::string ExportIsNot(double count, const std::string& job,
                          const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {"export", job, "--output", cluster_.folder("export")};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const CommandResult result = cluster_.Cairn(arguments);
    if (result.exit_code != 0) return result.errors;
    return CountIsNot(count, cluster_.folder("export"), CountingJob().rows);
  }

  void ExpectStopped() {
    const json status = cluster_.WaitForEnd("count", seconds(240));
    ASSERT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
    EXPECT_EQ(status["stopped_early"], true);
    EXPECT_EQ(status["total_batches"], (kPlateaus + 1) * kPerEpoch);
    EXPECT_EQ(status["learning_rate"], std::pow(0.5, kPlateaus - 1));
    EXPECT_EQ(ExportIsNot(SumOfRates(), "count"), "");
    // The first epoch is the best, and its checkpoint was kept.
    EXPECT_EQ(status["best"][0]["epoch"], 0);
    EXPECT_EQ(ExportIsNot(kPerEpoch, "count", {"--best"}), "");
  }

  TestCluster cluster_;
  std::string submitted_;
};

TEST_F(CallbacksTest, RatesAndTheStopAreExactWhileTheCoordinatorIsKilledOverAndOver) {
  ASSERT_NO_FATAL_FAILURE(Submit(PlateauJob()));
  // Near the ends of epochs, when callbacks decide.
  for (int64_t epoch = 1; epoch <= kPlateaus; ++epoch) {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() >= epoch * kPerEpoch; }))
        << cluster_.Logs();
    cluster_.task("chief", 0).Kill();
    cluster_.Start("chief", 0);
  }
  ExpectStopped();
  EXPECT_EQ(cluster_.Status("count").value("rollbacks", -1), 0);
}

TEST_F(CallbacksTest, RatesAndTheStopAreExactWhenEverythingIsKilledOnTheWay) {
  // The job must not end before the second blow.
  for (const int worker : {0, 1}) {
    cluster_.task("worker", worker).Kill();
    cluster_.Start("worker", worker,
                   {"--unsafe_testing", "--failpoint", "worker.forward=sleep:3@1-1000000000"});
  }
  ASSERT_NO_FATAL_FAILURE(Submit(PlateauJob()));
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() >= 2 * kPerEpoch + 100; }));
  cluster_.task("ps", 1).Kill();
  cluster_.Start("ps", 1);
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() >= 3 * kPerEpoch + 100; }));
  cluster_.KillAll();
  cluster_.StartAll();
  ExpectStopped();
  EXPECT_EQ(cluster_.Status("count").value("rollbacks", -1), 2) << "both struck while it trained";
}

TEST_F(CallbacksTest, HistoryShowsTheRateOfEveryBatch) {
  ASSERT_NO_FATAL_FAILURE(Submit(PlateauJob()));
  ExpectStopped();
  int64_t batches = 0;
  for (const json& line : cluster_.Cairn({"history", "count", "--json"}).lines()) {
    const int64_t epoch = line["epoch"];
    EXPECT_EQ(line["learning_rate"], epoch < 2 ? 1 : std::pow(0.5, epoch - 1)) << line;
    ++batches;
  }
  EXPECT_EQ(batches, (kPlateaus + 1) * kPerEpoch);
}

TEST_F(CallbacksTest, RestoredBestWeightsAreWhatIsExported) {
  CountingJob job = PlateauJob();
  job.checkpoint_every = 0;
  job.more = R"({"checkpoint": {"keep": 1}, "callbacks": [{"name": "EarlyStopping",
      "monitor": "loss", "patience": 2, "restore_best_weights": true}]})";
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  const json status = cluster_.WaitForEnd("count", seconds(120));
  EXPECT_EQ(status["total_batches"], 3 * kPerEpoch) << status;
  EXPECT_THAT(status["notes"].dump(), HasSubstr("early_stopping after epoch 3"));
  EXPECT_EQ(ExportIsNot(kPerEpoch, "count"), "");
}

// The rates are powers of 2, so that the count is exact.
TEST_F(CallbacksTest, RatesByEpochAreExactAndTheLogHasEachEpochOnceWhileTheCoordinatorIsKilled) {
  const std::string log = cluster_.folder("log.csv");
  CountingJob job;
  job.batches_per_epoch = kPerEpoch;
  job.batches = 6 * kPerEpoch;
  job.more = R"({"callbacks": ["BackupAndRestore", {"name": "LearningRateScheduler",
      "schedule": [1, 0.5, 0.5, 0.25]}, {"name": "CSVLogger", "filename": ")" +
             log + R"("}, {"name": "ModelCheckpoint", "save_freq": 200}]})";
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  for (int64_t epoch = 1; epoch < 6; ++epoch) {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() >= epoch * kPerEpoch; }))
        << cluster_.Logs();
    cluster_.task("chief", 0).Kill();
    cluster_.Start("chief", 0);
  }
  const json status = cluster_.WaitForEnd("count", seconds(120));
  ASSERT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
  EXPECT_EQ(status["learning_rate"], 0.25);
  EXPECT_THAT(status["notes"].dump(), HasSubstr("backup_and_restore is built in"));
  EXPECT_EQ(ExportIsNot((1 + 0.5 + 0.5 + 3 * 0.25) * kPerEpoch, "count"), "");
  std::ifstream file(log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 7);
  EXPECT_EQ(lines[0], "epoch,learning_rate,loss,val_learning_rate,val_loss\r");
  const std::vector<std::string> rates = {"1.0", "0.5", "0.5", "0.25", "0.25", "0.25"};
  for (size_t epoch = 0; epoch < rates.size(); ++epoch) {
    EXPECT_THAT(lines[epoch + 1],
                ::testing::StartsWith(absl::StrCat(epoch, ",", rates[epoch], ",")));
    EXPECT_THAT(lines[epoch + 1], ::testing::EndsWith(",NA,NA\r"));
  }
}

TEST_F(CallbacksTest, AJobThatIsResumedKeepsTheLinesThatAnotherJobAppended) {
  const std::string log = cluster_.folder("log.csv");
  CountingJob job;
  job.batches_per_epoch = kPerEpoch;
  job.batches = 1000 * kPerEpoch;
  job.more = R"({"callbacks": [{"name": "CSVLogger", "append": true, "filename": ")" + log +
             R"("}, {"name": "ModelCheckpoint", "save_freq": 200}]})";
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() >= 2 * kPerEpoch; }));
  ASSERT_EQ(cluster_.Cairn({"cancel", "1"}).exit_code, 0);
  job.batches = 2 * kPerEpoch;
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  ASSERT_EQ(cluster_.WaitForEnd("2", seconds(120)).value("state", ""), "finished");
  const std::string before = ReadFile(log);
  const CommandResult refused = cluster_.Cairn({"resume", "1"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.errors, HasSubstr("job 1 cannot be resumed: csv_logger: " + log +
                                        ": has changed since the job wrote it; move it away"));
  EXPECT_EQ(ReadFile(log), before);
  ASSERT_EQ(std::rename(log.c_str(), (log + ".old").c_str()), 0);
  ASSERT_EQ(cluster_.Cairn({"resume", "1"}).exit_code, 0);
  EXPECT_TRUE(WaitUntil(seconds(60), [&] { return !ReadFile(log).empty(); }));
  EXPECT_THAT(ReadFile(log), ::testing::StartsWith("epoch,loss,val_loss\r\n0,"));
  EXPECT_EQ(ReadFile(log + ".old"), before);

  // Lines that are appended while the job waits for its turn.
  ASSERT_EQ(cluster_.Cairn({"cancel", "1"}).exit_code, 0);
  job.batches = 1000 * kPerEpoch;
  job.more = "{}";
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  ASSERT_EQ(cluster_.Cairn({"resume", "1"}).exit_code, 0);
  const std::string appended = ReadFile(log) + "0,1.0,NA\r\n";
  WriteFile(log, appended);
  ASSERT_EQ(cluster_.Cairn({"cancel", "3"}).exit_code, 0);
  const json failed = cluster_.WaitForEnd("1", seconds(60));
  EXPECT_EQ(failed.value("state", ""), "failed") << failed;
  EXPECT_THAT(failed.value("error", ""),
              HasSubstr("csv_logger: " + log + ": has changed since the job wrote it"));
  EXPECT_EQ(ReadFile(log), appended);
}

// With 256 updates of 2 batches in an epoch all rates of the warm-up are exact in binary.
TEST_F(CallbacksTest, AWarmUpRaisesTheRateFromUpdateToUpdateAlsoWhenAPsIsKilled) {
  constexpr int64_t kUpdates = 256;
  CountingJob job;
  job.batches_per_epoch = 2 * kUpdates;
  job.batches = 4 * job.batches_per_epoch;
  job.checkpoint_every = 200;
  job.strategy = R"({"parameter_server": {"mode": "sync", "batches_per_update": 2}})";
  job.more = R"({"optimizer": {"name": "sgd", "learning_rate": 0.5}, "scale_learning_rate": true,
      "callbacks": [{"name": "learning_rate_warmup", "warmup_epochs": 2},
                    {"name": "learning_rate_scheduler", "schedule": [9, 9, 0.5, 0.25]}]})";
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() >= job.batches_per_epoch + 100; }));
  cluster_.task("ps", 1).Kill();
  cluster_.Start("ps", 1);
  const json status = cluster_.WaitForEnd("count", seconds(120));
  ASSERT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
  // Horovod's rates of 2 processes: from 0.5 to 1.
  double sum = (1 + 0.5) * kUpdates;
  for (int64_t update = 0; update < 2 * kUpdates; ++update) {
    const double epoch = static_cast<double>(update + 1) / kUpdates;
    sum += 0.5 * (epoch * (2 - 1) / 2 + 1);
  }
  EXPECT_EQ(ExportIsNot(sum, "count"), "");
}

TEST_F(CallbacksTest, TerminateOnNanFailsTheJobAtOnce) {
  CountingJob job;
  job.more = R"({"optimizer": {"name": "sgd", "learning_rate": 1e38},
                 "callbacks": ["terminate_on_nan"]})";
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  const json status = cluster_.WaitForEnd("count", seconds(60));
  EXPECT_EQ(status.value("state", ""), "failed") << status;
  EXPECT_THAT(status.value("error", ""), HasSubstr("terminate_on_nan: the loss of batch"));
}

TEST_F(CallbacksTest, AJobGoesOnFromAnotherJobsWeights) {
  CountingJob job;
  job.batches = job.batches_per_epoch = 300;
  ASSERT_NO_FATAL_FAILURE(Submit(job));
  ASSERT_EQ(cluster_.WaitForEnd("count", seconds(60)).value("state", ""), "finished");
  job.name = "tuned";
  job.batches = job.batches_per_epoch = 200;
  job.more = R"({"resume_from": "count"})";
  ASSERT_NO_FATAL_FAILURE(Submit(job, "tuned"));
  EXPECT_THAT(submitted_, HasSubstr("takes 1 variable from checkpoint 1 of job 1 (count)"));
  ASSERT_EQ(cluster_.WaitForEnd("tuned", seconds(60)).value("state", ""), "finished");
  EXPECT_EQ(ExportIsNot(500, "tuned"), "");
}

TEST_F(CallbacksTest, WhatCannotBeResumedFromIsRefusedAndNothingIsSubmitted) {
  CountingJob job;
  job.more = R"({"resume_from": "nobody"})";
  const CommandResult result =
      cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder("job"))});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("resume_from"));
  EXPECT_EQ(cluster_.Cairn({"jobs", "--json"}).output, "");
}

// One batch of logits 0: the gradient of example i is w_i (1/2 - y_i) / 4.
TEST_F(CallbacksTest, AnExampleCountsAsItsClassDoes) {
  CountingJob job;
  job.rows = 1;
  job.batch_size = 4;
  job.batches = job.batches_per_epoch = 1;
  job.more = R"({"loss": {"name": "binary_crossentropy", "from_logits": true},
                 "class_weight": {"0": 2, "1": 0.25}})";
  const std::string file = WriteCountingJob(job, cluster_.folder("job"));
  WriteFile(cluster_.folder("job") + "/y.npy", EncodeNpy({{4, 1}, {0, 1, 1, 1}}));
  const CommandResult result = cluster_.Cairn({"submit", file, "--follow"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  ASSERT_EQ(cluster_.Cairn({"export", "count", "--output", cluster_.folder("export")}).exit_code,
            0);
  EXPECT_EQ(CountIsNot((2 * 0.5 - 3 * 0.25 * 0.5) / 4, cluster_.folder("export"), 1), "");
  const auto history = cluster_.Cairn({"history", "count", "--json"}).lines();
  ASSERT_EQ(history.size(), 1);
  EXPECT_NEAR(history[0]["loss"].get<double>(), (2 + 3 * 0.25) / 4 * std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace cairn::testing
