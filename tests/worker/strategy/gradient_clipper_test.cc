#include "worker/strategy/gradient_clipper.h"

#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "nn/loss.h"
#include "proto/job.pb.h"
#include "tests/parameters/test_job.h"

namespace cairn::worker {
namespace {

// A Dense layer and a BatchNormalization layer, after one backward pass.
class GradientClipperTest : public ::testing::Test {
 protected:
  GradientClipperTest() {
    model_ = nn::Model::Create(parameters::MakePlan({}).model()).value();
    device_ = nn::CreateDevice("cpu").value();
    proto::Loss loss;
    loss.set_name("mean_squared_error");
    objective_ = nn::Objective(nn::CreateLoss(loss).value());
    executor_ =
        nn::Executor::Create(model_.get(), &objective_, {.batch_size = 2}, device_.get()).value();
    for (size_t v = 0; v < model_->variables().size(); ++v) {
      float value = 0.1f;
      for (float& element : executor_->values(static_cast<int>(v))) element = value += 0.25f;
    }
    const std::vector<float> x = {1, 2, 3, 4, -1, 0, 1, 5};
    const std::vector<float> y(2 * nn::ElementCount(model_->output_shape()), 30.0f);
    EXPECT_TRUE(
        executor_->Forward({.size = 2, .inputs = {x.data()}, .labels = {y.data()}}, true).ok());
    EXPECT_TRUE(executor_->Backward([this](int variable) { complete_.push_back(variable); }).ok());
  }

  GradientClipper Clipper(const char* argument, double limit) {
    proto::Optimizer config;
    if (argument == std::string("clipnorm")) config.set_clipnorm(limit);
    if (argument == std::string("global_clipnorm")) config.set_global_clipnorm(limit);
    if (argument == std::string("clipvalue")) config.set_clipvalue(limit);
    return GradientClipper(nn::GradientClip::Create(config).value(), model_.get(), executor_.get());
  }

  bool IsGradient(int variable) const {
    return model_->variables()[variable].update == nn::VariableSpec::Update::kOptimized;
  }

  double SquareOf(int variable) const {
    double sum = 0;
    for (float g : executor_->gradient(variable)) sum += static_cast<double>(g) * g;
    return sum;
  }

  std::unique_ptr<nn::Model> model_;
  std::unique_ptr<nn::Device> device_;
  nn::Objective objective_;
  std::unique_ptr<nn::Executor> executor_;
  std::vector<int> complete_;
};

TEST_F(GradientClipperTest, TheNormOfEachVariableIsCutToTheLimit) {
  const GradientClipper clipper = Clipper("clipnorm", 0.01);
  EXPECT_FALSE(clipper.needs_all_gradients());
  int cut = 0;
  for (const int variable : complete_) {
    const double norm = std::sqrt(SquareOf(variable));
    const bool clips = IsGradient(variable) && norm > 0.01;
    EXPECT_FLOAT_EQ(clipper.ScaleOf(variable), clips ? 0.01 / norm : 1);
    cut += clips;
  }
  EXPECT_GT(cut, 0);
}

TEST_F(GradientClipperTest, TheGlobalNormIsThatOfAllGradientsTogether) {
  const GradientClipper clipper = Clipper("global_clipnorm", 0.01);
  EXPECT_TRUE(clipper.needs_all_gradients());
  double sum = 0;
  for (const int variable : complete_) sum += IsGradient(variable) ? SquareOf(variable) : 0;
  ASSERT_GT(sum, 0.01);
  const std::vector<float> scales = clipper.ScalesOf(complete_);
  for (size_t i = 0; i < complete_.size(); ++i) {
    EXPECT_FLOAT_EQ(scales[i], IsGradient(complete_[i]) ? 0.01 / std::sqrt(sum) : 1);
  }
}

TEST_F(GradientClipperTest, SmallGradientsAndOtherClipsAreLeftAlone) {
  for (const float scale : Clipper("global_clipnorm", 1e9).ScalesOf(complete_)) EXPECT_EQ(scale, 1);
  for (const float scale : Clipper("clipnorm", 1e9).ScalesOf(complete_)) EXPECT_EQ(scale, 1);
  for (const float scale : Clipper("clipvalue", 1e-9).ScalesOf(complete_)) EXPECT_EQ(scale, 1);
}

}  // namespace
}  // namespace cairn::worker
