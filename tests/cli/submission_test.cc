#include "cli/submission.h"

#include "cli/files.h"
#include "common/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/formats/keras_json.h"
#include "tests/cli/example_job.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

Submission WithWeights() {
  Submission submission;
  submission.job = ExamplePlan().job();
  submission.model.spec = ExamplePlan().model();
  submission.model.weights = ExampleValues();
  return submission;
}

TEST(SubmissionTest, JobAndModelAreReadTogetherAndTheWrongFileIsNamed) {
  const std::string folder = testing::TempDir() + "/submission_test";
  const std::string job = folder + "/job.json";
  ASSERT_TRUE(WriteFile(job, R"({"name": "a", "model": "m.json", "loss": "mse",
      "train": {"npy": {"features": "x.npy", "labels": "y.npy"}}, "optimizer": "sgd",
      "batch_size": 1, "epochs": 1})")
                  .ok());
  EXPECT_THAT(std::string(ReadSubmission(job).status().message()),
              HasSubstr("submission_test/m.json"));
  ASSERT_TRUE(WriteFile(folder + "/m.json", ExampleModelJson()).ok());
  const auto submission = ReadSubmission(job);
  ASSERT_TRUE(submission.ok()) << submission.status();
  EXPECT_EQ(submission->job.name(), "a");
  EXPECT_GT(submission->model.spec.layers_size(), 0);
}

TEST(SubmissionTest, InitialWeightsGoToThePsBeforeTheyAreCommitted) {
  FakeCluster cluster;
  cluster.set_submit_state(proto::UPLOADING, /*existed=*/false);
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  const auto reply = Submit(&api, WithWeights(), /*reuse=*/false);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->status().state(), proto::QUEUED);
  EXPECT_EQ(cluster.commits(), 1);
  EXPECT_EQ(static_cast<int>(cluster.uploaded().size()), ExamplePlan().partition().blocks_size());
  EXPECT_TRUE(cluster.submitted().uploads_weights());
  EXPECT_EQ(cluster.submitted().client_version(), kVersion);
}

TEST(SubmissionTest, JobThatIsThereAlreadyGetsNoWeights) {
  FakeCluster cluster;
  cluster.set_submit_state(proto::RUNNING, /*existed=*/true);
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  const auto reply = Submit(&api, WithWeights(), /*reuse=*/true);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(reply->existed());
  EXPECT_TRUE(cluster.submitted().reuse());
  EXPECT_TRUE(cluster.uploaded().empty());
  EXPECT_EQ(cluster.commits(), 0);
}

TEST(SubmissionTest, JobWhoseLastAttemptWasRefusedGetsItsWeightsAnew) {
  FakeCluster cluster;
  cluster.set_refused("mended");
  cluster.set_submit_state(proto::UPLOADING, /*existed=*/false);
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  Submission submission = WithWeights();
  submission.job.set_name("mended");
  submission.job.mutable_resume_from()->set_name("example");
  const auto reply = Submit(&api, submission, /*reuse=*/true);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(cluster.commits(), 1);
}

}  // namespace
}  // namespace cairn::cli
