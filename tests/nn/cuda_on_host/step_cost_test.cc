// What a training step submits to the GPU, and when the host waits for it.

#include <bit>
#include <cstdio>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "nn/cuda/cuda_device.h"
#include "nn/executor.h"
#include "nn/metric.h"
#include "proto/objective.pb.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

using cuda_on_host::Counts;

struct Case {
  const char* name;
  std::vector<TestLayer> layers;
};

std::vector<Case> Cases() {
  const TestLayer last = {"last", "Dense", R"({"units": 3, "activation": "softmax"})"};
  return {
      {"MLP",
       {{"input", "InputLayer", R"({"batch_shape": [null, 20]})"},
        {"first", "Dense", R"({"units": 16, "activation": "relu"})"},
        {"second", "Dense", R"({"units": 8, "activation": "relu"})"},
        last}},
      {"CNN",
       {{"input", "InputLayer", R"({"batch_shape": [null, 8, 8, 1]})"},
        {"conv", "Conv2D", R"({"filters": 4, "kernel_size": 3, "activation": "relu"})"},
        {"pool", "MaxPooling2D"},
        {"conv2", "Conv2D", R"({"filters": 6, "kernel_size": 2, "activation": "relu"})"},
        {"flat", "Flatten"},
        {"drop", "Dropout", R"({"rate": 0.2})"},
        last}},
      {"MobileNetV2 block",
       {{"input", "InputLayer", R"({"batch_shape": [null, 12, 12, 4]})"},
        {"expand", "Conv2D", R"({"filters": 12, "kernel_size": 1, "use_bias": false})"},
        {"expand_norm", "BatchNormalization"},
        {"expand_relu", "ReLU", R"({"max_value": 6.0})"},
        {"depth", "DepthwiseConv2D", R"({"kernel_size": 3, "padding": "same", "use_bias": false})"},
        {"depth_norm", "BatchNormalization"},
        {"depth_relu", "ReLU", R"({"max_value": 6.0})"},
        {"project", "Conv2D", R"({"filters": 4, "kernel_size": 1, "use_bias": false})"},
        {"project_norm", "BatchNormalization"},
        {"add", "Add", "{}", {"input", "project_norm"}},
        {"pool", "GlobalAveragePooling2D"},
        last}},
      {"Embedding",
       {{"input", "InputLayer", R"({"batch_shape": [null, 6], "dtype": "int32"})"},
        {"table", "Embedding", R"({"input_dim": 9, "output_dim": 4})"},
        {"pool", "GlobalAveragePooling1D"},
        last}},
  };
}

// The counts of a step: when the results have arrived, and at its end.
struct StepCounts {
  Counts at_results;
  Counts at_end;
  int64_t gradients = 0;
  int64_t gradient_bytes = 0;
  int64_t batch_bytes = 0;
  int64_t value_bytes = 0;
};

StepCounts CountStep(const Model& model, Device* device) {
  constexpr int64_t kSize = 4;
  proto::Loss loss;
  loss.set_name("sparse_categorical_crossentropy");
  proto::Metric accuracy;
  accuracy.set_name("accuracy");
  std::vector<Objective::OutputLoss> losses;
  losses.push_back({.loss = *CreateLoss(loss)});
  std::vector<Objective::OutputMetric> metrics;
  metrics.push_back({*CreateMetric(accuracy, *losses[0].loss, model.output_shape()), 0});
  const Objective objective(std::move(losses), std::move(metrics));
  auto executor = *Executor::Create(&model, &objective, {.batch_size = kSize}, device);
  const std::vector<int32_t> input(kSize * ElementCount(model.inputs()[0].spec.shape), 1);
  const std::vector<int32_t> labels = {0, 1, 2, 1};
  const Executor::Batch batch = {
      .size = kSize, .inputs = {input.data()}, .labels = {labels.data()}};
  StepCounts counts;
  counts.batch_bytes = static_cast<int64_t>((input.size() + labels.size()) * sizeof(float));
  // The second step is counted; the first one may create what all use.
  for (int step = 0; step < 2; ++step) {
    for (size_t v = 0; v < model.variables().size(); ++v) {
      for (float& value : executor->values(static_cast<int>(v))) value = 0.1f;
    }
    cuda_on_host::ResetCounts();
    counts.gradients = counts.gradient_bytes = 0;
    const absl::Status status = executor->Step(
        batch,
        [&](const Executor::BatchResults&) {
          counts.at_results = cuda_on_host::CountsOfCalls();
          return true;
        },
        [&](int variable) {
          ++counts.gradients;
          counts.gradient_bytes +=
              static_cast<int64_t>(executor->gradient(variable).size() * sizeof(float));
        });
    EXPECT_TRUE(status.ok()) << status;
    counts.at_end = cuda_on_host::CountsOfCalls();
  }
  for (const VariableSpec& variable : model.variables()) {
    counts.value_bytes += variable.element_count() * static_cast<int64_t>(sizeof(float));
  }
  return counts;
}

int64_t ComputedLayers(const Model& model) {
  int64_t layers = 0;
  for (const Model::Node& node : model.nodes()) {
    layers += !node.inputs.empty() && !node.layer->is_view();
  }
  return layers;
}

TEST(StepCostTest, TheHostWaitsForResultsAndGradientsOnly) {
  auto device = *CudaDevice::Create(0);
  std::printf("%-18s %7s %8s %8s %6s %8s %6s %9s %9s %6s\n", "step of", "layers", "kernels",
              "products", "fills", "launches", "ratio", "bytes to", "from", "waits");
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const auto model = ModelOf(c.layers);
    const StepCounts counts = CountStep(*model, device.get());
    const Counts& end = counts.at_end;
    // The loss with its metric counts as a layer.
    const int64_t layers = ComputedLayers(*model) + 1;
    const double ratio = static_cast<double>(end.launches()) / static_cast<double>(2 * layers);
    std::printf("%-18s %7ld %8ld %8ld %6ld %8ld %6.2f %9ld %9ld %6ld\n", c.name, layers,
                end.kernels, end.products, end.fills, end.launches(), ratio, end.bytes_to_device,
                end.bytes_from_device, end.waits);
    // The first wait is that for the results, when both passes have been submitted.
    EXPECT_EQ(counts.at_results.waits, 1);
    EXPECT_EQ(end.submitted_after_wait, 0);
    EXPECT_EQ(end.waits, 1 + counts.gradients);
    EXPECT_LE(ratio, 2.5);
    // Values and the batch, and gradients with the results: a flag, the loss, and two numbers of
    // the accuracy.
    EXPECT_EQ(end.bytes_to_device, counts.value_bytes + counts.batch_bytes);
    EXPECT_EQ(end.bytes_from_device,
              counts.gradient_bytes + 4 * static_cast<int64_t>(sizeof(double)));
  }
}

}  // namespace
}  // namespace cairn::nn::testing
