// What a job says whose loss is no finite number, through real daemons: once when it happens, with
// the batch, and at its end, where the exit code is 1 unless the loss has recovered. In the
// counting job a rate of 1e38 takes the weights to where the loss overflows. All later batches are
// rejected then, so the mean loss of the last epoch is nan: no batch of it counts.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

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
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kPerEpoch = 10;
constexpr char kRejected[] = "; such batches are rejected: they change nothing";

CountingJob ShortJob() {
  CountingJob job;
  job.rows = 16;
  job.batches_per_epoch = kPerEpoch;
  job.batches = 3 * kPerEpoch;
  return job;
}

CountingJob OverflowingJob() {
  CountingJob job = ShortJob();
  job.more = R"({"optimizer": {"name": "sgd", "learning_rate": 1e38}})";
  return job;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string LastLine(const std::string& text) {
  const std::string trimmed = text.substr(0, text.find_last_not_of('\n') + 1);
  return trimmed.substr(trimmed.find_last_of('\n') + 1);
}

class NonfiniteLossTest : public ::testing::Test {
 protected:
  // One worker: what it reports comes in the order of the batches.
  NonfiniteLossTest() : cluster_(/*ps_count=*/2, /*worker_count=*/1) { cluster_.StartAll(); }

  std::string WriteJob(const CountingJob& job) {
    return WriteCountingJob(job, cluster_.folder("job"));
  }
  // The counting job with a NaN in the features of so many examples.
  std::string WriteJobWithNan(int64_t rows_with_nan) {
    CountingJob job = ShortJob();
    job.more = R"({"train": {"npy": {"features": "x.npy", "labels": "y.npy"}, "allow_nan": true}})";
    const std::string file = WriteJob(job);
    const int64_t examples = kPerEpoch * job.batch_size;
    Array features = {{examples, job.rows}, std::vector<float>(examples * job.rows, 1.0f)};
    for (int64_t i = 0; i < rows_with_nan; ++i) features.values[i * job.rows] = std::nanf("");
    WriteFile(cluster_.folder("job") + "/x.npy", EncodeNpy(features));
    return file;
  }
  std::string Notes() {
    std::string notes;
    const json status = cluster_.Status("count");
    for (const json& note : status["notes"]) notes += note.value("note", "") + "\n";
    return notes;
  }
  // "batch 3 (epoch 1)", as people count: the first batch without a finite loss in the history.
  std::string FirstNonfiniteBatch() {
    for (const json& line : cluster_.Cairn({"history", "count", "--json"}).lines()) {
      if (line.contains("evaluation") || !line["loss"].is_null()) continue;
      return "batch " + std::to_string(line["batch"].get<int64_t>() + 1) + " (epoch " +
             std::to_string(line["epoch"].get<int64_t>() + 1) + ")";
    }
    return "none";
  }

  TestCluster cluster_;
};

TEST_F(NonfiniteLossTest, IsSaidOnceAndAtTheEndWithExitCodeOne) {
  const CommandResult result = cluster_.Cairn({"submit", WriteJob(OverflowingJob()), "--follow"});
  EXPECT_EQ(result.exit_code, 1) << result.output << result.errors;
  const std::string batch = FirstNonfiniteBatch();
  EXPECT_EQ(batch, "batch 2 (epoch 1)");
  const std::string note = "the loss became inf at " + batch + kRejected;
  EXPECT_EQ(Notes(), note + "\n29 of 30 batches were rejected\n");
  EXPECT_LE(Count(result.output, note), 1);  // A job may be over before anybody follows it.
  EXPECT_THAT(result.output, HasSubstr("finished: 3 epochs"));
  const std::string last =
      "cairn: job 1 (count) finished, but its training loss is nan, first at " + batch +
      ": try a smaller learning_rate or clipnorm and check the data; "
      "the callback terminate_on_nan stops such a job at once";
  EXPECT_EQ(LastLine(result.errors), last);

  for (const bool as_json : {false, true}) {
    std::vector<std::string> arguments = {"follow", "count"};
    if (as_json) arguments.push_back("--json");
    const CommandResult again = cluster_.Cairn(arguments);
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_EQ(LastLine(again.errors), last);
  }
  const json status = cluster_.Status("count");
  EXPECT_EQ(status["state"], "finished");
  EXPECT_EQ(status["nonfinite_loss"], json({{"epoch", 0}, {"batch", 1}, {"loss", "inf"}}))
      << status;
  EXPECT_THAT(cluster_.Cairn({"status", "count"}).output,
              AllOf(HasSubstr("  note         "), HasSubstr(")  " + note),
                    HasSubstr("  rejected     29 of 30 batches: their loss or a gradient is not "
                              "finite\n"),
                    HasSubstr("its training loss is nan")));
  EXPECT_EQ(status["batches_rejected"], 29);
  EXPECT_THAT(cluster_.Cairn({"jobs"}).output, HasSubstr("finished (nan)"));
  EXPECT_THAT(cluster_.Logs(), AllOf(HasSubstr(note), HasSubstr("last loss is not finite")));
}

// One of the ten batches of each epoch has a NaN, which does not get into the weights.
TEST_F(NonfiniteLossTest, OfSomeBatchesIsANoteAndNoFailure) {
  const std::string file = WriteJobWithNan(/*rows_with_nan=*/1);
  const CommandResult result = cluster_.Cairn({"submit", file, "--follow"});
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
  const std::string batch = FirstNonfiniteBatch();
  EXPECT_EQ(Notes(), "the loss became nan at " + batch + ": its data are not finite" + kRejected +
                         "\n3 of 30 batches were rejected\n");
  EXPECT_EQ(cluster_.Cairn({"follow", "count"}).exit_code, 0);
  const std::string status = cluster_.Cairn({"status", "count"}).output;
  EXPECT_THAT(status, AllOf(HasSubstr("the loss became nan"), Not(HasSubstr("WARNING"))));
  EXPECT_THAT(cluster_.Cairn({"jobs"}).output, Not(HasSubstr("(nan)")));
  int rejected = 0;
  for (const json& line : cluster_.Cairn({"history", "count", "--json"}).lines()) {
    rejected += line.value("rejected", false) ? 1 : 0;
  }
  EXPECT_EQ(rejected, 3);
  EXPECT_EQ(Count(cluster_.Cairn({"history", "count"}).output, "loss nan  rejected\n"), 3);
}

TEST_F(NonfiniteLossTest, OfDataThatAreNotFiniteIsBlamedOnThem) {
  const std::string file = WriteJobWithNan(/*rows_with_nan=*/kPerEpoch * ShortJob().batch_size);
  const CommandResult result = cluster_.Cairn({"submit", file, "--follow"});
  EXPECT_EQ(result.exit_code, 1) << result.output << result.errors;
  const std::string batch = FirstNonfiniteBatch();
  EXPECT_EQ(Notes(), "the loss became nan at " + batch + ": its data are not finite" + kRejected +
                         "\n30 of 30 batches were rejected\n");
  EXPECT_THAT(LastLine(result.errors),
              HasSubstr("its training loss is nan, first at " + batch +
                        ", whose data are not finite: fix them; without allow_nan in the job file "
                        "such data are rejected; "));
}

TEST_F(NonfiniteLossTest, OfTheValidationAloneIsSaidToo) {
  CountingJob job = ShortJob();
  job.more = R"({"validation": {"npy": {"features": "x.npy", "labels": "bad.npy"},
                                "allow_nan": true}})";
  const std::string file = WriteJob(job);
  const int64_t examples = kPerEpoch * job.batch_size;
  Array labels = {{examples, 1}, std::vector<float>(examples, -1e30f)};
  labels.values[7] = std::nanf("");
  WriteFile(cluster_.folder("job") + "/bad.npy", EncodeNpy(labels));
  const CommandResult result = cluster_.Cairn({"submit", file, "--follow"});
  EXPECT_EQ(result.exit_code, 1) << result.output << result.errors;
  EXPECT_EQ(Notes(), "the validation loss became nan after epoch 1: its data are not finite\n");
  EXPECT_THAT(LastLine(result.errors),
              AllOf(HasSubstr("finished, but its validation loss is nan, first after epoch 1, "),
                    Not(HasSubstr("terminate_on_nan"))));
  EXPECT_EQ(FirstNonfiniteBatch(), "none");
}

TEST_F(NonfiniteLossTest, OutlivesTheCoordinatorAndARollback) {
  CountingJob job = OverflowingJob();
  job.batches_per_epoch = 500;
  job.batches = 16 * job.batches_per_epoch;
  job.checkpoint_every = 200;
  ASSERT_EQ(cluster_.Cairn({"submit", WriteJob(job)}).exit_code, 0);
  const auto done = [this](int64_t batches) {
    return WaitUntil(std::chrono::seconds(60), [&] {
      return cluster_.Status("count").value("batches_done", int64_t{0}) >= batches;
    });
  };
  ASSERT_TRUE(done(600)) << cluster_.Logs();
  cluster_.task("chief", 0).Kill();
  cluster_.Start("chief", 0);
  ASSERT_TRUE(done(1200)) << cluster_.Logs();
  cluster_.task("ps", 0).Kill();
  cluster_.Start("ps", 0);
  const json status = cluster_.WaitForEnd("count", std::chrono::seconds(240));
  ASSERT_EQ(status["state"], "finished") << status;
  EXPECT_EQ(status["rollbacks"], 1);
  EXPECT_EQ(Count(Notes(), "the loss became"), 1) << Notes();
  EXPECT_EQ(cluster_.Cairn({"follow", "count"}).exit_code, 1);
}

TEST(NonfiniteLossOfARunTest, IsItsLastLineAndNothingIsExported) {
  TemporaryFolder folder;
  const std::vector<std::string> arguments = {
      "run",       WriteCountingJob(OverflowingJob(), folder.path("job")),
      "--state",   folder.path("state"),
      "--ps",      "1",
      "--workers", "1",
      "--export",  folder.path("export")};
  for (int attempt = 0; attempt < 2; ++attempt) {
    const CommandResult result = RunCairn(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.output << result.errors;
    EXPECT_THAT(LastLine(result.errors), EndsWith("stops such a job at once"));
    EXPECT_EQ(ReadFile(folder.path("export") + "/model.json"), "");
  }
  const CommandResult status = RunCairn({"status", "--state", folder.path("state")});
  EXPECT_EQ(Count(status.output, "the loss became inf at batch 2 (epoch 1)"), 1) << status.output;
  const CommandResult followed = RunCairn({"follow", "count", "--state", folder.path("state")});
  EXPECT_EQ(followed.exit_code, 1) << followed.output << followed.errors;
}

}  // namespace
}  // namespace cairn::testing
