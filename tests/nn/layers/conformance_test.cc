// Tests every layer on every device that can train: outputs against plain loops in double
// precision, gradients against central differences of the same loops.

#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "nn/executor.h"
#include "proto/job.pb.h"
#include "tests/nn/layers/conformance_cases.h"
#include "tests/nn/layers/conformance_device.h"
#include "tests/nn/reference_model.h"

namespace cairn::nn::testing {
namespace {

// Numbers between -1 and 1 but not near zero, where many functions are not smooth.
Doubles Draw(uint64_t key, int64_t count) {
  Doubles values;
  for (int64_t i = 0; i < count; ++i) {
    const float value = 2 * RandomUniform(key, i) - 1;
    values.push_back(value + (value < 0 ? -0.01f : 0.01f));
  }
  return values;
}

class LayerConformanceTest : public ::testing::TestWithParam<ConformanceCase> {
 protected:
  LayerConformanceTest() : model_(ModelOf(GetParam().layers)), device_(CreateConformanceDevice()) {}

  // Skips without the device.
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << "the device is not there";
    proto::Loss loss;
    loss.set_name("mean_squared_error");
    objective_ = Objective(*CreateLoss(loss));
    auto executor = Executor::Create(model_.get(), &objective_,
                                     {.batch_size = GetParam().batch_size}, device_.get());
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
    DrawBatch();
  }

  void DrawBatch() {
    batch_.size = GetParam().batch_size;
    batch_.random_key = 77;
    for (size_t i = 0; i < model_->inputs().size(); ++i) {
      const Model::Input& input = model_->inputs()[i];
      Doubles values = Draw(100 + i, batch_.size * ElementCount(input.spec.shape));
      // Ids are 0 to 3.
      if (input.spec.type == proto::INT32) {
        for (double& value : values) value = std::floor((value + 1.02) * 1.9);
      }
      batch_.inputs.push_back(values);
    }
    for (size_t v = 0; v < model_->variables().size(); ++v) {
      Doubles values = Draw(200 + v, model_->variables()[v].element_count());
      const bool is_variance = model_->variables()[v].name.find("variance") != std::string::npos;
      for (double& value : values) value = is_variance ? 0.5 + std::fabs(value) : value;
      std::copy(values.begin(), values.end(), executor_->values(v).begin());
      batch_.variables.push_back(std::move(values));
    }
    labels_ = Draw(300, batch_.size * ElementCount(model_->output_shape()));
  }

  // The batch for the executor; valid until the next call.
  Executor::Batch DeviceBatch() {
    device_inputs_.clear();
    for (size_t i = 0; i < batch_.inputs.size(); ++i) {
      std::vector<float> values(batch_.inputs[i].begin(), batch_.inputs[i].end());
      if (model_->inputs()[i].spec.type == proto::INT32) {
        const std::vector<int32_t> ids(values.begin(), values.end());
        std::memcpy(values.data(), ids.data(), ids.size() * sizeof(int32_t));
      }
      device_inputs_.push_back(std::move(values));
    }
    device_labels_.assign(labels_.begin(), labels_.end());
    Executor::Batch batch{.size = batch_.size, .random_key = batch_.random_key};
    for (const std::vector<float>& input : device_inputs_) batch.inputs.push_back(input.data());
    batch.labels = {device_labels_.data()};
    return batch;
  }

  double ReferenceLoss() {
    batch_.training = true;
    const Doubles output = ReferenceOutput(*model_, batch_);
    double sum = 0;
    for (size_t i = 0; i < output.size(); ++i) {
      sum += (output[i] - labels_[i]) * (output[i] - labels_[i]);
    }
    return sum / output.size() + ReferencePenalty(*model_, batch_);
  }

  double CentralDifference(double* value) {
    constexpr double kStep = 1e-6;
    const double before = *value;
    *value = before + kStep;
    const double above = ReferenceLoss();
    *value = before - kStep;
    const double below = ReferenceLoss();
    *value = before;
    return (above - below) / (2 * kStep);
  }

  void ExpectOutput(bool training) {
    batch_.training = training;
    const Doubles expected = ReferenceOutput(*model_, batch_);
    ASSERT_TRUE(executor_->Forward(DeviceBatch(), training).ok());
    ASSERT_EQ(executor_->output()->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR((*executor_->output())[i], expected[i],
                  1e-5 * std::max(1.0, std::fabs(expected[i])))
          << "element " << i << (training ? " in training" : " in inference");
    }
  }

  std::unique_ptr<Model> model_;
  Objective objective_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;
  ReferenceBatch batch_;
  Doubles labels_;
  std::vector<std::vector<float>> device_inputs_;
  std::vector<float> device_labels_;
};

TEST_P(LayerConformanceTest, OutputsAreThoseOfPlainLoops) {
  ExpectOutput(/*training=*/false);
  ExpectOutput(/*training=*/true);
}

// As in a frozen part of a model: there is no backward pass, but layers drop and measure.
TEST_P(LayerConformanceTest, OutputsInTrainingAreTheSameWhereNothingIsTrained) {
  const std::unique_ptr<Executor> trained = std::move(executor_);
  Executor::Options options{.batch_size = GetParam().batch_size};
  options.trained = std::vector<bool>(model_->variables().size(), false);
  auto executor = Executor::Create(model_.get(), &objective_, options, device_.get());
  ASSERT_TRUE(executor.ok()) << executor.status();
  executor_ = *std::move(executor);
  for (size_t v = 0; v < model_->variables().size(); ++v) {
    absl::c_copy(batch_.variables[v], executor_->values(v).begin());
  }
  ExpectOutput(/*training=*/true);
}

TEST_P(LayerConformanceTest, GradientsAreCentralDifferencesOfTheLoss) {
  const absl::StatusOr<Executor::BatchResults> sums =
      executor_->Forward(DeviceBatch(), /*training=*/true);
  ASSERT_TRUE(sums.ok()) << sums.status();
  const double loss = sums->loss_sum / static_cast<double>(sums->examples) + sums->penalty;
  EXPECT_NEAR(loss, ReferenceLoss(), 1e-5 * std::max(1.0, loss));
  std::vector<bool> was_called(model_->variables().size(), false);
  EXPECT_TRUE(executor_->Backward([&](int variable) { was_called[variable] = true; }).ok());

  for (size_t v = 0; v < model_->variables().size(); ++v) {
    const VariableSpec& variable = model_->variables()[v];
    EXPECT_EQ(was_called[v], variable.update != VariableSpec::Update::kFrozen) << variable.name;
    if (variable.update != VariableSpec::Update::kOptimized) continue;
    for (int64_t i = 0; i < variable.element_count(); ++i) {
      const double expected = CentralDifference(&batch_.variables[v][i]);
      ASSERT_NEAR(executor_->gradient(v)[i], expected, 2e-5 * std::max(1.0, std::fabs(expected)))
          << variable.name << " at " << i;
    }
  }
}

TEST_P(LayerConformanceTest, StepsRepeatToTheBit) {
  const auto gradients = [&] {
    EXPECT_TRUE(executor_->Forward(DeviceBatch(), /*training=*/true).ok());
    std::vector<float> all;
    EXPECT_TRUE(executor_
                    ->Backward([&](int variable) {
                      const absl::Span<const float> gradient = executor_->gradient(variable);
                      all.insert(all.end(), gradient.begin(), gradient.end());
                    })
                    .ok());
    return all;
  };
  const std::vector<float> first = gradients();
  EXPECT_EQ(first, gradients());
}

TEST_P(LayerConformanceTest, SmallerBatchesAreComputedAsIfAlone) {
  batch_.size = 1;
  for (size_t i = 0; i < batch_.inputs.size(); ++i) {
    batch_.inputs[i].resize(ElementCount(model_->inputs()[i].spec.shape));
  }
  labels_.resize(ElementCount(model_->output_shape()));
  ExpectOutput(/*training=*/false);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerConformanceTest, ::testing::ValuesIn(AllConformanceCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cairn::nn::testing
