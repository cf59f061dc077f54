#include "cli/model/uploaded_model.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;

TrainedModel FileModel() {
  TrainedModel model;
  model.file = "models/my model.keras";
  model.plan.mutable_job()->set_model("/models/my model.keras");
  *model.plan.mutable_model() = ExamplePlan().model();
  model.variables = ExampleValues();
  return model;
}

TEST(UploadedModelTest, TheValuesAreOnThePsUntilItIsGone) {
  FakeCluster cluster;
  cluster.set_submit_state(proto::UPLOADING, /*existed=*/false);
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  {
    const auto uploaded = UploadedModel::Create(&api, FileModel());
    ASSERT_TRUE(uploaded.ok()) << uploaded.status();
    const proto::SubmitRequest submitted = cluster.submitted();
    EXPECT_TRUE(submitted.uploads_weights());
    EXPECT_FALSE(submitted.reuse());
    EXPECT_EQ(submitted.job().name(), "file-my-model.keras");
    EXPECT_EQ(submitted.job().train().npy().labels_size(), 1);
    const proto::PartitionMap partition = ExamplePlan().partition();
    EXPECT_EQ(static_cast<int>(cluster.uploaded().size()), partition.blocks_size());
    const TrainedModel& model = (*uploaded)->model();
    EXPECT_EQ(model.file, "") << "it is a job's";
    EXPECT_EQ(model.plan.partition().blocks_size(), partition.blocks_size());
    EXPECT_EQ(model.checkpoint.checkpoint(), 0u);
    ASSERT_EQ(model.checkpoint.parts_size(), 2);
    EXPECT_EQ(model.checkpoint.parts(1).ps(), 1u);
    EXPECT_EQ(cluster.commits(), 0) << "the job would train";
    EXPECT_THAT(cluster.deleted(), ElementsAre());
  }
  EXPECT_EQ(cluster.deleted().size(), 1u);
}

TEST(UploadedModelTest, AClusterThatDoesNotAnswerIsAnError) {
  CoordinatorApi api("127.0.0.1:1", absl::Milliseconds(100));
  EXPECT_TRUE(absl::IsUnavailable(UploadedModel::Create(&api, FileModel()).status()));
}

}  // namespace
}  // namespace cairn::cli
