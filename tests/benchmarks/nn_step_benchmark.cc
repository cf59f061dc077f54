// Examples per second of whole training steps on one thread, without a cluster: forward, loss,
// backward and the optimizer's update of every variable.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "nn/create_device.h"
#include "nn/executor.h"
#include "nn/initializer.h"
#include "nn/optimizer.h"
#include "proto/job.pb.h"
#include "tests/nn/test_model.h"

namespace cairn::nn {
namespace {

using testing::ModelOf;
using testing::TestLayer;

constexpr int64_t kBatchSize = 128;
constexpr int64_t kClasses = 10;

std::vector<TestLayer> Perceptron() {
  return {{"input", "InputLayer", R"({"batch_shape": [null, 784]})"},
          {"hidden1", "Dense", R"({"units": 512, "activation": "relu"})"},
          {"hidden2", "Dense", R"({"units": 256, "activation": "relu"})"},
          {"output", "Dense", R"({"units": 10, "activation": "softmax"})"}};
}

std::vector<TestLayer> ConvolutionalNetwork(const std::string& image_shape) {
  return {{"input", "InputLayer", R"({"batch_shape": [null, )" + image_shape + "]}"},
          {"conv1", "Conv2D",
           R"({"filters": 32, "kernel_size": 3, "padding": "same", "activation": "relu"})"},
          {"pool1", "MaxPooling2D"},
          {"conv2", "Conv2D",
           R"({"filters": 64, "kernel_size": 3, "padding": "same", "activation": "relu"})"},
          {"pool2", "MaxPooling2D"},
          {"flatten", "Flatten"},
          {"hidden", "Dense", R"({"units": 256, "activation": "relu"})"},
          {"output", "Dense", R"({"units": 10, "activation": "softmax"})"}};
}

// A model with its executor and optimizer, on random data.
class Training {
 public:
  Training(const std::vector<TestLayer>& layers, const std::string& optimizer)
      : model_(ModelOf(layers)), device_(*CreateDevice("cpu")) {
    proto::Loss loss;
    loss.set_name("sparse_categorical_crossentropy");
    objective_ = Objective(*CreateLoss(loss));
    proto::Optimizer config;
    config.set_name(optimizer);
    optimizer_ = *CreateOptimizer(config);
    executor_ =
        *Executor::Create(model_.get(), &objective_, {.batch_size = kBatchSize}, device_.get());
    for (size_t v = 0; v < model_->variables().size(); ++v) {
      const VariableSpec& variable = model_->variables()[v];
      FillInitialValues(variable, 1, 0, variable.element_count(), executor_->values(v).data());
      for (int slot = 0; slot < optimizer_->slot_count(); ++slot) {
        slots_.emplace_back(variable.element_count(), optimizer_->initial_slot_value(slot));
      }
    }
    const int64_t count = kBatchSize * ElementCount(model_->inputs()[0].spec.shape);
    for (int64_t i = 0; i < count; ++i) input_.push_back(RandomUniform(2, i));
    for (int64_t i = 0; i < kBatchSize; ++i) labels_.push_back(RandomBelow(3, i, kClasses));
  }

  void Step() {
    const Executor::Batch batch{
        .size = kBatchSize, .inputs = {input_.data()}, .labels = {labels_.data()}};
    CAIRN_CHECK(executor_->Forward(batch, /*training=*/true).ok());
    CAIRN_CHECK(executor_->Backward([this](int variable) { Update(variable); }).ok());
    ++steps_;
  }

 private:
  void Update(int variable) {
    float* values = executor_->values(variable).data();
    OptimizerRule::Chunk chunk = {.count = model_->variables()[variable].element_count(),
                                  .gradient = executor_->gradient(variable).data(),
                                  .values_in = values,
                                  .values_out = values};
    for (int slot = 0; slot < optimizer_->slot_count(); ++slot) {
      chunk.slots_in[slot] = chunk.slots_out[slot] =
          slots_[variable * optimizer_->slot_count() + slot].data();
    }
    optimizer_->Apply(chunk, steps_, optimizer_->learning_rate(steps_));
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Device> device_;
  Objective objective_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::vector<float>> slots_;
  std::vector<float> input_;
  std::vector<int32_t> labels_;
  int64_t steps_ = 0;
};

void TrainStep(benchmark::State& state, const std::vector<TestLayer>& layers,
               const std::string& optimizer) {
  Training training(layers, optimizer);
  for (int warm_up = 0; warm_up < 3; ++warm_up) training.Step();
  for (auto unused : state) training.Step();
  state.SetItemsProcessed(state.iterations() * kBatchSize);
}

void RegisterAll() {
  for (const char* optimizer : {"sgd", "adam"}) {
    const auto name = [&](const char* model) {
      return "train_step/" + std::string(model) + "/" + optimizer;
    };
    const auto add = [&](const char* model, const std::vector<TestLayer>& layers) {
      benchmark::RegisterBenchmark(name(model).c_str(), TrainStep, layers, optimizer)
          ->Unit(benchmark::kMillisecond);
    };
    add("mlp_784_512_256_10", Perceptron());
    add("cnn_28x28x1", ConvolutionalNetwork("28, 28, 1"));
    add("cnn_32x32x3", ConvolutionalNetwork("32, 32, 3"));
  }
}

}  // namespace
}  // namespace cairn::nn

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  cairn::nn::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
