// The GPU device on the stand-in: what the conformance suite of layers does not test.

#include "nn/cuda/cuda_device.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/cpu/cpu_device.h"
#include "nn/executor.h"
#include "nn/metric.h"
#include "proto/objective.pb.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"
#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kBatchSize = 3;
constexpr char kDevice[] = "cuda:0 (stand-in on the host)";

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::unique_ptr<const Loss> LossNamed(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return *CreateLoss(config);
}

class CudaDeviceTest : public ::testing::Test {
 protected:
  CudaDeviceTest() : device_(*CudaDevice::Create(0)) {}
  ~CudaDeviceTest() override { cuda_on_host::Recover(); }

  std::unique_ptr<Device> device_;
};

// doc/cuda.md has the same list.
TEST_F(CudaDeviceTest, LayersWithoutAKernelAreRefusedByName) {
  std::set<std::string> refused;
  for (const ConformanceCase& c : AllConformanceCases()) {
    const auto model = ModelOf(c.layers);
    for (const Model::Node& node : model->nodes()) {
      if (node.inputs.empty() || node.layer->is_view()) continue;
      const absl::Status status =
          device_->CreateKernel(*node.layer, {.examples = 2, .training = true}).status();
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      EXPECT_THAT(Message(status), HasSubstr(std::string("has no kernel on ") + kDevice +
                                             "; use the device \"cpu\""));
      // The class is in the message, of TimeDistributed that of the inner layer.
      const std::string message = Message(status);
      const size_t begin = message.find('(') + 1;
      refused.insert(message.substr(begin, message.find(')') - begin));
    }
  }
  EXPECT_THAT(refused, ElementsAreArray({"AdaptiveAveragePooling1D",
                                         "AdaptiveAveragePooling2D",
                                         "AdaptiveAveragePooling3D",
                                         "AdaptiveMaxPooling1D",
                                         "AdaptiveMaxPooling2D",
                                         "AdaptiveMaxPooling3D",
                                         "AdditiveAttention",
                                         "Attention",
                                         "Bidirectional",
                                         "CategoryEncoding",
                                         "Conv3D",
                                         "Conv3DTranspose",
                                         "ConvLSTM1D",
                                         "ConvLSTM2D",
                                         "Discretization",
                                         "Dot",
                                         "EinsumDense",
                                         "GRU",
                                         "LSTM",
                                         "LayerOutput",
                                         "MultiHeadAttention",
                                         "RNN",
                                         "RandomBrightness",
                                         "RandomContrast",
                                         "RandomCrop",
                                         "RandomErasing",
                                         "RandomFlip",
                                         "RandomGrayscale",
                                         "RandomInvert",
                                         "RandomRotation",
                                         "RandomShear",
                                         "RandomTranslation",
                                         "RandomZoom",
                                         "SimpleRNN",
                                         "Solarization",
                                         "StringLookup"}));
}

TEST_F(CudaDeviceTest, AnOrthogonalRegularizerIsRefused) {
  const auto model = ModelOf(
      {{"input", "InputLayer", R"({"batch_shape": [null, 4]})"},
       {"hidden", "Dense", R"({"units": 4, "kernel_regularizer": "orthogonal_regularizer"})"}});
  const absl::Status status =
      Executor::Create(model.get(), nullptr, {.batch_size = 2}, device_.get()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message(status), StartsWith("layer 'hidden' (Dense): OrthogonalRegularizer"));
}

// Two outputs, a shared layer, a view with two consumers, and penalties.
std::unique_ptr<Model> BranchedModel() {
  constexpr char kDense[] =
      R"({"units": 4, "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.2}},
          "activity_regularizer": "l2"})";
  return ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 4]})"},
                  {"dense", "Dense", kDense},
                  {"again", "Dense", kDense, {"dense"}, "dense"},
                  {"view", "Reshape", R"({"target_shape": [4]})", {"again"}},
                  {"sum", "Add", "{}", {"again", "view"}},
                  {"kind", "Dense", R"({"units": 3, "activation": "softmax"})", {"sum"}},
                  {"size", "Dense", R"({"units": 3, "activation": "sigmoid"})", {"sum"}}},
                 {"kind", "size"});
}

// The arrays of a batch. Class labels are 0 to 2.
struct TestBatch {
  TestBatch(const Model& model, const Objective& objective, int64_t size) {
    for (const Model::Input& input : model.inputs()) {
      Append(size * ElementCount(input.spec.shape), input.spec.type == proto::INT32);
      batch.inputs.push_back(arrays.back().data());
    }
    for (size_t i = 0; i < objective.losses().size(); ++i) {
      const Loss& loss = *objective.losses()[i].loss;
      Append(size * loss.LabelCount(model.outputs()[i].shape), loss.label_type() == proto::INT32);
      batch.labels.push_back(arrays.back().data());
    }
    Append(size, /*whole=*/false);
    batch.weights = arrays.back().data();
    batch.size = size;
  }
  void Append(int64_t count, bool whole) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
      const float value = RandomUniform(arrays.size(), i);
      values.push_back(whole ? std::bit_cast<float>(static_cast<int32_t>(3 * value)) : value);
    }
    arrays.push_back(std::move(values));
  }
  std::vector<std::vector<float>> arrays;
  Executor::Batch batch;
};

// Loss, penalty, metrics, outputs and gradients of one step.
std::vector<double> Step(const Model& model, const Objective& objective, int64_t size,
                         Device* device) {
  const TestBatch data(model, objective, size);
  auto executor = *Executor::Create(&model, &objective, {.batch_size = size}, device);
  for (size_t v = 0; v < model.variables().size(); ++v) {
    const absl::Span<float> values = executor->values(static_cast<int>(v));
    for (size_t i = 0; i < values.size(); ++i) values[i] = RandomUniform(50 + v, i) - 0.4f;
  }
  const auto results = executor->Forward(data.batch, /*training=*/true);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<double> all = {results->loss_sum, results->penalty};
  const auto add = [&all](const auto& numbers) {
    all.insert(all.end(), numbers.begin(), numbers.end());
  };
  for (const std::vector<double>& state : results->metrics) add(state);
  for (size_t i = 0; i < model.outputs().size(); ++i) add(*executor->output(static_cast<int>(i)));
  EXPECT_TRUE(executor->Backward([&](int variable) { add(executor->gradient(variable)); }).ok());
  return all;
}

void ExpectStepOfTheCpu(const Model& model, const Objective& objective, int64_t size,
                        Device* device) {
  CpuDevice cpu;
  const std::vector<double> expected = Step(model, objective, size, &cpu);
  const std::vector<double> computed = Step(model, objective, size, device);
  ASSERT_EQ(computed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(computed[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
  }
}

// The conformance suite has small tensors: one block and one piece of each sum.
TEST_F(CudaDeviceTest, LargeTensorsOfManyBlocksAreComputedAsByTheCpu) {
  const auto model = ModelOf(
      {{"input", "InputLayer", R"({"batch_shape": [null, 13, 11, 3]})"},
       {"conv", "Conv2D", R"({"filters": 35, "kernel_size": 3, "strides": 2, "padding": "same",
                              "activation": "tanh"})"},
       {"norm", "BatchNormalization"},
       {"layer", "LayerNormalization"},
       {"pool", "MaxPooling2D", R"({"padding": "same"})"},
       {"flat", "Flatten"},
       {"row", "LayerNormalization"},
       {"wide", "Dense", R"({"units": 301, "kernel_regularizer": {"class_name": "L1L2", "config":
                             {"l1": 0.0001, "l2": 0.0002}}, "activation": "softmax"})"},
       {"last", "Dense", R"({"units": 3, "activation": "softmax"})"}});
  const Objective objective(LossNamed("sparse_categorical_crossentropy"));
  ExpectStepOfTheCpu(*model, objective, /*size=*/37, device_.get());
}

TEST_F(CudaDeviceTest, EveryLossAndMetricAndPenaltyIsThatOfTheCpu) {
  const auto model = BranchedModel();
  for (const std::string& name : LossNames()) {
    SCOPED_TRACE(name);
    std::vector<Objective::OutputLoss> losses;
    std::vector<Objective::OutputMetric> metrics;
    for (int output = 0; output < 2; ++output) {
      losses.push_back({.loss = LossNamed(name), .weight = 0.5 + output});
      for (const char* metric : {"loss", "accuracy", "auc", "recall", "mean_squared_error"}) {
        proto::Metric config;
        config.set_name(metric);
        auto created = CreateMetric(config, *losses.back().loss, model->outputs()[0].shape);
        if (created.ok()) metrics.push_back({*std::move(created), output});
      }
    }
    const Objective objective(std::move(losses), std::move(metrics));
    ExpectStepOfTheCpu(*model, objective, kBatchSize, device_.get());
  }
}

TEST_F(CudaDeviceTest, AnIdOutOfRangeIsRefusedAndTheNextBatchComputed) {
  const auto model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 2], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"}});
  auto executor = *Executor::Create(model.get(), nullptr, {.batch_size = 1}, device_.get());
  for (const int32_t id : {4, -1}) {
    const int32_t wrong[] = {3, id};
    const absl::Status status =
        executor->Forward({.size = 1, .inputs = {wrong}}, /*training=*/false).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(status), "layer 'table' (Embedding): id " + std::to_string(id) +
                                   " is not one of the rows 0 to 3");
  }
  const int32_t right[] = {3, 0};
  EXPECT_TRUE(executor->Forward({.size = 1, .inputs = {right}}, /*training=*/false).ok());
}

// An id and a class label: the first error in the order of the layers is reported, with the
// results.
TEST_F(CudaDeviceTest, ABatchWithAWrongIdOrClassLabelIsRefusedAndTheNextOneComputed) {
  const auto model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 2], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"},
               {"flat", "Flatten"},
               {"kind", "Dense", R"({"units": 3, "activation": "softmax"})"}});
  const Objective objective(LossNamed("sparse_categorical_crossentropy"));
  auto executor = *Executor::Create(model.get(), &objective, {.batch_size = 2}, device_.get());
  const int32_t right_ids[] = {3, 0, 1, 2}, wrong_ids[] = {3, 0, 4, -7};
  const int32_t right_labels[] = {2, 0}, large_label[] = {1, 3}, negative_label[] = {-1, 3};
  const auto step = [&](const int32_t* ids, const int32_t* labels) {
    int calls = 0;
    const absl::Status status = executor->Step(
        {.size = 2, .inputs = {ids}, .labels = {labels}}, [&](const auto&) { return ++calls != 0; },
        [&](int) { ++calls; });
    // The results and the gradients of all variables, or nothing.
    EXPECT_EQ(calls, status.ok() ? 4 : 0);
    return status;
  };
  EXPECT_EQ(Message(step(right_ids, large_label)),
            "loss sparse_categorical_crossentropy: label 3 is not one of the classes 0 to 2");
  EXPECT_EQ(Message(step(right_ids, negative_label)),
            "loss sparse_categorical_crossentropy: label -1 is not one of the classes 0 to 2");
  EXPECT_EQ(Message(step(wrong_ids, large_label)),
            "layer 'table' (Embedding): id 4 is not one of the rows 0 to 3");
  EXPECT_TRUE(step(right_ids, right_labels).ok());
}

// An id that fills a batch, and more ids than one block sorts.
TEST_F(CudaDeviceTest, GradientsOfManyIdsAreThoseOfTheCpu) {
  const auto model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 150], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 4, "output_dim": 2})"},
               {"flat", "Flatten"},
               {"last", "Dense", R"({"units": 2})"}});
  const Objective objective(LossNamed("mean_squared_error"));
  ExpectStepOfTheCpu(*model, objective, /*size=*/9, device_.get());
}

// More than the buffers of pinned memory.
TEST_F(CudaDeviceTest, ManyCopiesToTheDeviceArriveAsTheyWere) {
  constexpr int64_t kCount = 500'000;
  constexpr int kArrays = 7;
  std::vector<void*> arrays;
  for (int i = 0; i < kArrays; ++i) {
    const std::vector<float> values(kCount, static_cast<float>(i));
    arrays.push_back(*device_->Allocate(kCount * sizeof(float)));
    EXPECT_TRUE(device_->CopyToDevice(arrays.back(), values.data(), kCount * sizeof(float)).ok());
  }
  for (int i = 0; i < kArrays; ++i) {
    std::vector<float> values(kCount);
    EXPECT_TRUE(device_->CopyFromDevice(values.data(), arrays[i], kCount * sizeof(float)).ok());
    EXPECT_EQ(values, std::vector<float>(kCount, static_cast<float>(i)));
    device_->Free(arrays[i]);
  }
}

TEST_F(CudaDeviceTest, MemoryThatIsShortAtAnyPlaceIsAnError) {
  const auto model =
      ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 5, 5, 1]})"},
               {"first", "Conv2D", R"({"filters": 3, "kernel_size": 2, "activation": "gelu"})"},
               {"second", "BatchNormalization"}});
  const Executor::Options options = {.batch_size = 2};
  int failures = 0;
  for (;; ++failures) {
    cuda_on_host::FailCall("cudaMalloc", cudaErrorMemoryAllocation, failures);
    const absl::Status status =
        Executor::Create(model.get(), nullptr, options, device_.get()).status();
    cuda_on_host::Recover();
    if (status.ok()) break;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(Message(status), HasSubstr("out of memory"));
    ASSERT_LT(failures, 100);
  }
  EXPECT_GT(failures, 10);
}

TEST_F(CudaDeviceTest, AnErrorNamesTheLayerThePassAndTheDevice) {
  // A power of two: gradients are not rescaled, and the copy to the host comes first.
  constexpr int64_t kSize = 2;
  const auto model = ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 4]})"},
                              {"hidden", "Dense", R"({"units": 3})"}});
  const Objective objective(LossNamed("mean_squared_error"));
  auto executor = *Executor::Create(model.get(), &objective, {.batch_size = kSize}, device_.get());
  const std::vector<float> input(kSize * 4), labels(kSize * 3);
  const Executor::Batch batch = {
      .size = kSize, .inputs = {input.data()}, .labels = {labels.data()}};
  cuda_on_host::FailCall("cudaLaunchKernel", cudaErrorLaunchFailure);
  absl::Status status = executor->Forward(batch, /*training=*/true).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(status), StartsWith("layer 'hidden' (Dense), forward pass: "
                                          "cudaLaunchKernel on cuda:0 (stand-in on the host): "
                                          "unspecified launch failure"));

  ASSERT_TRUE(executor->Forward(batch, /*training=*/true).ok());
  cuda_on_host::FailCall("cudaLaunchKernel", cudaErrorLaunchFailure);
  int gradients = 0;
  status = executor->Backward([&](int) { ++gradients; });
  EXPECT_THAT(Message(status), StartsWith("layer 'hidden' (Dense), backward pass: "));
  EXPECT_EQ(gradients, 0) << "a gradient that may be wrong is not reported";

  // The device works on.
  ASSERT_TRUE(executor->Forward(batch, /*training=*/true).ok());
  cuda_on_host::LoseDevice(0);
  EXPECT_FALSE(executor->Forward(batch, /*training=*/true).ok());
}

}  // namespace
}  // namespace cairn::nn::testing
