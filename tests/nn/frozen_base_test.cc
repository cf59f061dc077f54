// A frozen network with a new head, as used for transfer learning: the memory of training and the
// results.

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nn/cpu/cpu_device.h"
#include "nn/executor.h"
#include "nn/formats/model_file.h"
#include "nn/initializer.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

constexpr int64_t kBatch = 2;

// The CPU device, counting the bytes allocated.
class CountingDevice final : public CpuDevice {
 public:
  absl::StatusOr<void*> Allocate(size_t bytes) override {
    bytes_ += static_cast<int64_t>(bytes);
    return CpuDevice::Allocate(bytes);
  }

  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// A frozen MobileNetV2 as one layer, and a Dense head of 1280 x 5.
std::unique_ptr<Model> TransferModel() {
  std::ifstream file("examples/models/mobilenet_v2_transfer.json");
  std::stringstream text;
  text << file.rdbuf();
  return *Model::Create(ReadModel(text.str(), {})->spec);
}

Objective CrossEntropy() {
  proto::Loss loss;
  loss.set_name("sparse_categorical_crossentropy");
  return Objective(*CreateLoss(loss));
}

int64_t BytesPlanned(const Model& model, bool training) {
  CountingDevice device;
  const Objective objective = CrossEntropy();
  EXPECT_TRUE(
      Executor::Create(&model, &objective, {.batch_size = kBatch, .training = training}, &device)
          .ok());
  return device.bytes();
}

TEST(FrozenBaseTest, TrainingTakesMemoryForTheHeadsGradientsOnly) {
  const auto model = TransferModel();
  const int64_t more = BytesPlanned(*model, true) - BytesPlanned(*model, false);
  constexpr int64_t kHead = (1280 * 5 + 5 + kBatch * 5) * 4;
  // Buffers may be rounded up to whole pages.
  EXPECT_GE(more, kHead);
  EXPECT_LE(more, kHead + 3 * 4096);
}

TEST(FrozenBaseTest, ItsBatchNormalizationComputesAsInInference) {
  const auto model = TransferModel();
  const Objective objective = CrossEntropy();
  CpuDevice device;
  const auto executor = *Executor::Create(model.get(), &objective, {.batch_size = kBatch}, &device);
  for (size_t v = 0; v < model->variables().size(); ++v) {
    const auto values = executor->values(static_cast<int>(v));
    FillInitialValues(model->variables()[v], 3, 0, static_cast<int64_t>(values.size()),
                      values.data());
  }
  std::vector<float> images(kBatch * 160 * 160 * 3);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 97) / 97;
  const auto features = [&](bool training) {
    EXPECT_TRUE(executor->Forward({.size = kBatch, .inputs = {images.data()}}, training).ok());
    return std::vector<float>(executor->output()->begin(), executor->output()->end());
  };
  EXPECT_EQ(features(true), features(false));
}

TEST(FrozenBaseTest, OnlyTheHeadHasGradients) {
  const auto model = TransferModel();
  const Objective objective = CrossEntropy();
  CpuDevice device;
  const auto executor = *Executor::Create(model.get(), &objective, {.batch_size = kBatch}, &device);
  const std::vector<float> images(kBatch * 160 * 160 * 3, 0.5f);
  const int32_t labels[kBatch] = {1, 4};
  ASSERT_TRUE(
      executor->Forward({.size = kBatch, .inputs = {images.data()}, .labels = {labels}}, true)
          .ok());
  std::vector<std::string> names;
  EXPECT_TRUE(
      executor->Backward([&](int variable) { names.push_back(model->variables()[variable].name); })
          .ok());
  EXPECT_EQ(names, std::vector<std::string>({"head/kernel", "head/bias"}));
}

}  // namespace
}  // namespace cairn::nn
