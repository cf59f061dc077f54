// The GPU device on the stand-in: what the conformance suite of layers does not test.

#include "nn/cuda/cuda_device.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/executor.h"
#include "proto/objective.pb.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"
#include "tests/nn/layers/conformance_cases.h"

namespace cairn::nn::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
