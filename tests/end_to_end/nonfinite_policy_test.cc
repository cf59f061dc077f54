// What becomes of batches whose loss or gradient is not finite (on_non_finite), and of damaged
// records (skip_damaged), through real daemons that are killed meanwhile. In the counting job every
// batch that counts takes exactly 1 from every weight.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
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
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience(240);

struct Mode {
  std::string name;
  std::string strategy;
  int64_t batches_per_update = 1;
};

const Mode kModes[] = {
    {"async", R"({"parameter_server": {"mode": "async"}})"},
    {"stale", R"({"parameter_server": {"mode": "stale", "window": 4}})"},
    {"sync", R"({"parameter_server": {"mode": "sync", "batches_per_update": 1}})"},
    {"sync5", R"({"parameter_server": {"mode": "sync", "batches_per_update": 5}})", 5},
};

CountingJob JobOf(const Mode& mode, int64_t per_epoch, int64_t epochs) {
  CountingJob job;
  job.rows = 16;
  job.batches_per_epoch = per_epoch;
  job.batches = epochs * per_epoch;
  job.strategy = mode.strategy;
  job.batches_per_update = mode.batches_per_update;
  return job;
}

class NonfinitePolicyTest : public ::testing::TestWithParam<Mode> {
 protected:
  NonfinitePolicyTest() : cluster_(/*ps_count=*/2, /*worker_count=*/2) { cluster_.StartAll(); }

  std::string WriteJob(CountingJob job, const json& more) {
    job.more = more.dump();
    return WriteCountingJob(job, cluster_.folder("job"));
  }
  // As WriteJob, with a NaN in one feature of one example: each epoch has one batch with it.
  std::string WriteJobWithNan(const CountingJob& job, json more = json::object()) {
    more["train"] = {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}, {"allow_nan", true}};
    const std::string file = WriteJob(job, more);
    const int64_t examples = job.batches_per_epoch * job.batch_size;
    Array features = {{examples, job.rows}, std::vector<float>(examples * job.rows, 1.0f)};
    features.values[5 * job.rows + 3] = std::nanf("");
    WriteFile(cluster_.folder("job") + "/x.npy", EncodeNpy(features));
    return file;
  }
  std::string CountIsNot(double count, int rows) {
    const std::string folder = cluster_.folder("export");
    const CommandResult exported = cluster_.Cairn({"export", "count", "--output", folder});
    if (exported.exit_code != 0) return exported.errors;
    return testing::CountIsNot(count, folder, rows);
  }
  // Kills and restarts a worker, a ps and the coordinator, one after the other, each when the job
  // has made some progress since the last one.
  void KillEachOnce(int64_t progress) {
    int64_t next = progress;
    for (const auto& [type, index] : std::vector<std::pair<std::string, int>>{
             {"worker", 0}, {"chief", 0}, {"ps", 1}, {"worker", 1}}) {
      ASSERT_TRUE(WaitUntil(std::chrono::seconds(120), [&] {
        const json status = cluster_.Status("count");
        return status.value("batches_done", int64_t{0}) >= next;
      })) << cluster_.Logs();
      cluster_.task(type, index).Kill();
      cluster_.Start(type, index);
      next += progress;
    }
  }

  TestCluster cluster_;
};

TEST_P(NonfinitePolicyTest, ABatchWithANanIsRejectedAndTheWeightsAreThoseWithoutIt) {
  const CountingJob job = JobOf(GetParam(), 10, 3);
  const CommandResult result = cluster_.Cairn({"submit", WriteJobWithNan(job), "--follow"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors << cluster_.Logs();
  EXPECT_EQ(cluster_.Status("count")["batches_rejected"], 3);
  // The mean of an update is that of its other batches. One with no other batch changes nothing.
  const int64_t updates = job.batches / job.batches_per_update;
  EXPECT_EQ(CountIsNot(job.batches_per_update > 1 ? updates : updates - 3, job.rows), "");
}

TEST_P(NonfinitePolicyTest, ClippedUpdatesLeaveRejectedBatchesOutToo) {
  const CountingJob job = JobOf(GetParam(), 10, 3);
  const json more = {
      {"optimizer", {{"name", "sgd"}, {"learning_rate", 1.0}, {"global_clipnorm", 1000.0}}}};
  const CommandResult result = cluster_.Cairn({"submit", WriteJobWithNan(job, more), "--follow"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors << cluster_.Logs();
  EXPECT_EQ(cluster_.Status("count")["batches_rejected"], 3);
  const int64_t updates = job.batches / job.batches_per_update;
  EXPECT_EQ(CountIsNot(job.batches_per_update > 1 ? updates : updates - 3, job.rows), "");
}

TEST_P(NonfinitePolicyTest, RejectedBatchesAreExactWhoeverIsKilled) {
  CountingJob job = JobOf(GetParam(), 500, 16);
  job.checkpoint_every = 200;
  ASSERT_EQ(cluster_.Cairn({"submit", WriteJobWithNan(job)}).exit_code, 0);
  KillEachOnce(400);
  const json status = cluster_.WaitForEnd("count", kPatience);
  ASSERT_EQ(status["state"], "finished") << status << cluster_.Logs();
  EXPECT_GE(status["rollbacks"], 1);
  // Counted by reports, which are lost with a worker; applied exactly.
  EXPECT_LE(status["batches_rejected"], 16);
  EXPECT_GE(status["batches_rejected"], 12);
  const int64_t updates = job.batches / job.batches_per_update;
  EXPECT_EQ(CountIsNot(job.batches_per_update > 1 ? updates : updates - 16, job.rows), "");
}

TEST_P(NonfinitePolicyTest, AJobThatFailsSaysWhereAndIsResumed) {
  const CountingJob job = JobOf(GetParam(), 10, 3);
  const std::string file = WriteJobWithNan(job, {{"on_non_finite", "fail"}});
  const CommandResult result = cluster_.Cairn({"submit", file, "--follow"});
  EXPECT_EQ(result.exit_code, 1);
  const json failed = cluster_.Status("count");
  EXPECT_EQ(failed["state"], "failed");
  EXPECT_EQ(failed["batches_rejected"], 0);
  EXPECT_THAT(failed["error"].get<std::string>(),
              AllOf(HasSubstr("the loss of batch "), HasSubstr(" in epoch 1 is nan (worker "),
                    HasSubstr(": its data are not finite; fix the data, or set"),
                    HasSubstr("cairn resume 1 goes on from the initial values")));
  // The data are the same, and so is the end.
  const CommandResult resumed = cluster_.Cairn({"resume", "count"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output << resumed.errors;
  EXPECT_EQ(cluster_.Cairn({"follow", "count"}).exit_code, 1);
  EXPECT_EQ(cluster_.Status("count")["state"], "failed");
}

// With the counting job's signs the weights are 0 or minus the rate in turn, and the loss overflows
// above a rate of 2.1e37. With several workers that are not synchronous it may be some multiple.
TEST_P(NonfinitePolicyTest, ARateThatIsTooLargeIsHalvedUntilTheLossIsFinite) {
  const CountingJob job = JobOf(GetParam(), 10, 3);
  const json more = {{"optimizer", {{"name", "sgd"}, {"learning_rate", 1e38}}},
                     {"on_non_finite", "rollback"}};
  const CommandResult result = cluster_.Cairn({"submit", WriteJob(job, more), "--follow"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors << cluster_.Logs();
  const json status = cluster_.Status("count");
  const int64_t rollbacks = status["nonfinite_rollbacks"];
  if (GetParam().name.substr(0, 4) == "sync") {
    EXPECT_EQ(rollbacks, 3);
  }
  EXPECT_GE(rollbacks, 3);
  EXPECT_EQ(status["rollbacks"], 0) << "no part was lost";
  EXPECT_EQ(status["batches_rejected"], 0);
  EXPECT_FLOAT_EQ(status["learning_rate"].get<float>(),
                  static_cast<float>(std::ldexp(1e38, -static_cast<int>(rollbacks))));
  EXPECT_TRUE(status["loss"].is_number()) << status;
  EXPECT_THAT(cluster_.Cairn({"status", "count"}).output,
              HasSubstr(absl::StrCat("  not finite   ", rollbacks,
                                     " rollbacks with half the learning rate\n")));
  EXPECT_THAT(result.output + cluster_.Logs(), HasSubstr("with half the learning rate, 5e+37"));
}

TEST_P(NonfinitePolicyTest, TheRateStaysHalvedWhoeverIsKilled) {
  CountingJob job = JobOf(GetParam(), 500, 16);
  job.checkpoint_every = 200;
  const json more = {{"optimizer", {{"name", "sgd"}, {"learning_rate", 1e38}}},
                     {"on_non_finite", "rollback"}};
  ASSERT_EQ(cluster_.Cairn({"submit", WriteJob(job, more)}).exit_code, 0);
  KillEachOnce(400);
  const json status = cluster_.WaitForEnd("count", kPatience);
  ASSERT_EQ(status["state"], "finished") << status << cluster_.Logs();
  const int64_t rollbacks = status["nonfinite_rollbacks"];
  if (GetParam().name.substr(0, 4) == "sync") {
    EXPECT_EQ(rollbacks, 3);
  }
  EXPECT_FLOAT_EQ(status["learning_rate"].get<float>(),
                  static_cast<float>(std::ldexp(1e38, -static_cast<int>(rollbacks))));
}

INSTANTIATE_TEST_SUITE_P(Modes, NonfinitePolicyTest, ::testing::ValuesIn(kModes),
                         [](const auto& info) { return info.param.name; });

// ---------------------------------------------------------------- damaged records

class DamagedRecordsTest : public ::testing::Test {
 protected:
  DamagedRecordsTest() : cluster_(/*ps_count=*/1, /*worker_count=*/2) { cluster_.StartAll(); }

  // The counting job with 16 good rows and some that are damaged, among them the last one.
  std::string WriteJob(int64_t skip_damaged) {
    CountingJob job;
    job.rows = 2;
    job.batch_size = 4;
    job.batches_per_epoch = 4;
    job.batches = 40;
    json train = {{"csv", {{"files", "train.csv"}, {"labels", {"y"}}}}};
    if (skip_damaged > 0) train["skip_damaged"] = skip_damaged;
    job.more = json({{"train", train}, {"validation", train}}).dump();
    const std::string file = WriteCountingJob(job, cluster_.folder("job"));
    std::string csv = "a,b,y\n";
    for (int row = 0; row < 16; ++row) {
      csv += "1,1,-1e30\n";
      if (row == 2) csv += "1,oops,-1e30\n1,1\n";
      if (row == 9) csv += "1,,-1e30\n";
    }
    WriteFile(cluster_.folder("job") + "/train.csv", csv + "1,\"1");
    return file;
  }

  TestCluster cluster_;
};

TEST_F(DamagedRecordsTest, AreSkippedCountedAndTheFirstIsQuoted) {
  const CommandResult result = cluster_.Cairn({"submit", WriteJob(4), "--follow"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors << cluster_.Logs();
  const std::string first =
      "data file " + cluster_.folder("job") +
      "/train.csv: line 5, column \"b\": \"oops\" is not a number; if the column holds names, set "
      "\"categorical\": true";
  const json status = cluster_.Status("count");
  EXPECT_EQ(status["train_damaged"], json({{"count", 4}, {"first_error", first}})) << status;
  EXPECT_EQ(status["validation_damaged"], status["train_damaged"]);
  EXPECT_EQ(status["batches_done"], 40);
  EXPECT_THAT(cluster_.Cairn({"status", "count"}).output,
              HasSubstr("  skipped      4 damaged records of the training data, the first: " +
                        first + "\n"));
  // All workers skip the same rows: every batch of 4 good examples counts.
  const std::string folder = cluster_.folder("export");
  ASSERT_EQ(cluster_.Cairn({"export", "count", "--output", folder}).exit_code, 0);
  EXPECT_EQ(CountIsNot(40, folder, 2), "");
}

TEST_F(DamagedRecordsTest, AreAnErrorBeyondWhatIsAllowed) {
  const CommandResult result = cluster_.Cairn({"submit", WriteJob(3), "--follow"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output + result.errors,
              AllOf(HasSubstr("4 damaged records, \"skip_damaged\" allows 3: data file "),
                    HasSubstr("(1) line 5, column \"b\": \"oops\" is not a number")));
  EXPECT_EQ(cluster_.Cairn({"submit", WriteJob(0), "--follow"}).exit_code, 2);
}

}  // namespace
}  // namespace cairn::testing
