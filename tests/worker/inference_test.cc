#include "worker/inference.h"

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/failpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = 3 a + 5 b on seven examples; the last batch of four has three.
class InferenceTest : public ::testing::Test {
 protected:
  InferenceTest() : plan_(CountingPlan({.rows = 2, .batch_size = 4, .validation = true})) {
    auto& npy = *plan_.mutable_job()->mutable_validation()->mutable_npy();
    std::vector<float> x, y;
    for (int i = 0; i < 7; ++i) {
      x.insert(x.end(), {static_cast<float>(i), 1.0f});
      y.push_back(3.0f * static_cast<float>(i) + 5 + static_cast<float>(i));
    }
    npy.set_features(0, WriteDataFile("inference_x.npy", NpyBytes("<f4", "(7, 2)", Raw(x))));
    npy.set_labels(0, WriteDataFile("inference_y.npy", NpyBytes("<f4", "(7, 1)", Raw(y))));
  }

  std::unique_ptr<Inference> Make(bool outputs) {
    Inference::Options options;
    options.outputs = outputs;
    auto inference = Inference::Create(plan_, options, device_.get());
    EXPECT_TRUE(inference.ok()) << inference.status();
    (*inference)->values(0)[0] = 3;
    (*inference)->values(0)[1] = 5;
    return *std::move(inference);
  }

  proto::JobPlan plan_;
  std::unique_ptr<nn::Device> device_ = *nn::CreateDevice("cpu");
};

TEST_F(InferenceTest, BatchesMayBeComputedInAnyOrder) {
  const auto inference = Make(/*outputs=*/false);
  EXPECT_EQ(inference->examples(), 7);
  EXPECT_EQ(inference->batches(), 2);
  EXPECT_EQ(inference->batch_bytes(), 0);
  for (int round = 0; round < 2; ++round) {
    const auto last = inference->Compute(1, {0});
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_EQ(last->examples(), 3);
    EXPECT_DOUBLE_EQ(last->evaluated().loss_sum(), 4 + 5 + 6);
    const auto first = inference->Compute(0, {});
    EXPECT_DOUBLE_EQ(first->evaluated().loss_sum(), 0 + 1 + 2 + 3);
  }
}

TEST_F(InferenceTest, OutputsAreThoseOfTheRows) {
  const auto inference = Make(/*outputs=*/true);
  EXPECT_EQ(inference->batch_bytes(), 7 * 4);
  const auto batch = inference->Compute(0, {});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_FALSE(batch->has_evaluated());
  EXPECT_THAT(*inference->output(0), ElementsAre(5, 8, 11, 14, 17, 20, 23));
}

TEST_F(InferenceTest, ABatchThatDoesNotExistIsAnError) {
  const auto inference = Make(/*outputs=*/false);
  for (const int64_t batch : {int64_t{-1}, int64_t{2}, int64_t{1} << 62}) {
    EXPECT_TRUE(absl::IsInvalidArgument(inference->Compute(batch, {}).status())) << batch;
  }
}

TEST_F(InferenceTest, ItsActivitySaysWhetherItReadsOrComputes) {
  const RealClock clock;
  Activity activity(&clock);
  Inference::Options options;
  options.activity = &activity;
  const auto inference = Inference::Create(plan_, options, device_.get());
  ASSERT_TRUE(inference.ok()) << inference.status();
  ASSERT_TRUE((*inference)->Compute(1, {}).ok());
  EXPECT_EQ(activity.Report().phase(), proto::Activity::COMPUTING);
  EXPECT_EQ(activity.Report().batch(), 1);
  ASSERT_TRUE(ArmFailpoint("worker.read_batch=error").ok());
  EXPECT_TRUE(absl::IsUnavailable((*inference)->Compute(0, {}).status()));
  DisarmFailpoints();
  EXPECT_EQ(activity.Report().phase(), proto::Activity::READING);
  EXPECT_EQ(activity.Report().batch(), 0);
}

TEST_F(InferenceTest, DataThatCannotBeReadAreAnError) {
  plan_.mutable_job()->mutable_validation()->mutable_npy()->set_features(0, "/gone.npy");
  Inference::Options options;
  options.data_name = "--data";
  EXPECT_THAT(std::string(Inference::Create(plan_, options, device_.get()).status().message()),
              HasSubstr("/gone.npy"));
}

TEST_F(InferenceTest, ACheckpointWithoutTheModelsVariablesIsRefused) {
  const auto inference = Make(/*outputs=*/true);
  proto::InferenceRequest request;
  *request.mutable_plan() = plan_;
  *request.mutable_checkpoint()->mutable_partition() = plan_.partition();
  request.mutable_checkpoint()->mutable_partition()->mutable_variables(0)->set_name("other");
  const absl::Status status = LoadCheckpoint(request, ClusterInfo(), inference.get());
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not have"));
  // A partition map of nonsense.
  request.mutable_checkpoint()->mutable_partition()->mutable_blocks(0)->set_variable(99);
  EXPECT_FALSE(LoadCheckpoint(request, ClusterInfo(), inference.get()).ok());
}

}  // namespace
}  // namespace cairn::worker
