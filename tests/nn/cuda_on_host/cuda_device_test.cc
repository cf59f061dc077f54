// The GPU device on the stand-in: what the suites in tests/nn/layers do not test.

#include "nn/cuda/cuda_device.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/executor.h"
#include "proto/objective.pb.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::StartsWith;

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

class UnknownLayer : public Layer {
 public:
  UnknownLayer() : Layer({.name = "hidden", .class_name = "Unheard"}, {}, {}) {}
};

TEST_F(CudaDeviceTest, ALayerWithoutAKernelIsRefusedByName) {
  const absl::Status status = device_->CreateKernel(UnknownLayer(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(
      Message(status),
      "layer 'hidden' (Unheard) has no kernel on cuda:0 (stand-in on the host); use the device "
      "\"cpu\", which has all layers");
}

// The cost of a step is the time to launch its work, so that must stay small: a product and a
// kernel in each direction.
TEST_F(CudaDeviceTest, AStepOfARecurrentLayerIsOneKernelInEachDirection) {
  constexpr int64_t kSize = 2;
  const Objective objective(LossNamed("mean_squared_error"));
  for (const char* layer : {"SimpleRNN", "LSTM", "GRU"}) {
    const auto kernels = [&](int steps) {
      const auto model = ModelOf(
          {{"input", "InputLayer", R"({"batch_shape": [null, )" + std::to_string(steps) + ", 2]}"},
           {"layer", layer, R"({"units": 3, "recurrent_dropout": 0.5})"}});
      auto executor =
          *Executor::Create(model.get(), &objective, {.batch_size = kSize}, device_.get());
      const std::vector<float> input(kSize * steps * 2), labels(kSize * 3);
      const int64_t before = cuda_on_host::KernelCount();
      const auto results = executor->Forward(
          {.size = kSize, .inputs = {input.data()}, .labels = {labels.data()}}, /*training=*/true);
      EXPECT_TRUE(results.ok()) << results.status();
      EXPECT_TRUE(executor->Backward([](int) {}).ok());
      return cuda_on_host::KernelCount() - before;
    };
    EXPECT_EQ(kernels(8) - kernels(5), 3 * 2) << layer;
  }
}

// The stand-in rounds exactly; on a GPU cuBLAS may choose a kernel that does not for so small a
// product.
TEST_F(CudaDeviceTest, ProductsRoundTheirInputsAsThePrecisionSays) {
  const auto model = ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 1]})"},
                              {"dense", "Dense", R"({"units": 1, "use_bias": false})"}});
  const auto output = [&](Precision precision, float input) {
    auto executor = *Executor::Create(model.get(), nullptr,
                                      {.batch_size = 1, .precision = precision}, device_.get());
    executor->values(0)[0] = 1;
    EXPECT_TRUE(executor->Forward({.size = 1, .inputs = {&input}}, /*training=*/false).ok());
    return (*executor->output())[0];
  };
  const float ten_bits = 1 + 0x1p-10f, more = 1 + 0x1p-11f;
  EXPECT_EQ(output(Precision::kFloat32, more), more);
  EXPECT_EQ(output(Precision::kTensorFloat32, more), 1);
  EXPECT_EQ(output(Precision::kTensorFloat32, ten_bits), ten_bits);
  EXPECT_EQ(output(Precision::kBfloat16, ten_bits), 1);
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
               {"second", "BatchNormalization"},
               {"steps", "Reshape", R"({"target_shape": [4, 12]})"},
               {"third", "LSTM", R"({"units": 2})"}});
  const Executor::Options options = {.batch_size = 2};
  // It shares scratch memory with the one that is created.
  auto other = *Executor::Create(model.get(), nullptr, {.batch_size = 1}, device_.get());
  const std::vector<float> input(25);
  int failures = 0;
  for (;; ++failures) {
    cuda_on_host::FailCall("cudaMalloc", cudaErrorMemoryAllocation, failures);
    const absl::Status status =
        Executor::Create(model.get(), nullptr, options, device_.get()).status();
    cuda_on_host::Recover();
    EXPECT_TRUE(other->Forward({.size = 1, .inputs = {input.data()}}, /*training=*/false).ok());
    if (status.ok()) break;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(Message(status),
                ContainsRegex("allocating [0-9]+ bytes on cuda:0 \\(stand-in on the host\\), "
                              "[0-9]+ of [0-9]+ are free: out of memory"));
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
