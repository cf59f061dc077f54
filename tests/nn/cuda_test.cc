#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "nn/cuda/load_cuda_device.h"
#include "nn/layer.h"

namespace cairn::nn {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Skips with the reason if there is no GPU.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Device>> device = LoadCudaDevice(0);
    if (absl::IsFailedPrecondition(device.status())) GTEST_SKIP() << device.status();
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  // Copies `values` to the GPU.
  float* Upload(const std::vector<float>& values) {
    absl::StatusOr<void*> memory = device_->Allocate(values.size() * sizeof(float));
    EXPECT_TRUE(memory.ok()) << memory.status();
    EXPECT_TRUE(device_->CopyToDevice(*memory, values.data(), values.size() * sizeof(float)).ok());
    return static_cast<float*>(*memory);
  }

  std::vector<float> Download(const float* memory, size_t count) {
    std::vector<float> values(count);
    EXPECT_TRUE(device_->CopyFromDevice(values.data(), memory, count * sizeof(float)).ok());
    return values;
  }

  std::unique_ptr<Device> device_;
};

std::vector<float> Draws(size_t count, uint64_t key) {
  std::vector<float> draws(count);
  for (size_t i = 0; i < count; ++i) draws[i] = static_cast<float>(RandomUniform(key, i) - 0.5);
  return draws;
}

// From less than one staging buffer to several, with odd sizes.
TEST_F(CudaTest, WhatIsCopiedComesBack) {
  for (const size_t count : {0, 1, 1000, 1 << 20, (1 << 20) + 1, (5 << 20) + 3}) {
    const std::vector<float> values = Draws(count, count);
    float* memory = Upload(values);
    EXPECT_EQ(Download(memory, count), values) << count << " floats";
    device_->Free(memory);
  }
}

TEST_F(CudaTest, TheHostsMemoryMayBeReusedAtOnce) {
  const size_t count = 3 << 20;
  float* memory = Upload(std::vector<float>(count));
  std::vector<float> host;
  for (int round = 0; round < 20; ++round) {
    const float value = static_cast<float>(round);
    host.assign(count, value);
    ASSERT_TRUE(device_->CopyToDevice(memory, host.data(), count * sizeof(float)).ok());
    host.assign(count, -1);
    EXPECT_EQ(Download(memory, count), std::vector<float>(count, value));
  }
  device_->Free(memory);
}

TEST_F(CudaTest, MemoryIsAlignedAndItsLackNamesTheSize) {
  absl::StatusOr<void*> none = device_->Allocate(0);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(*none) % 64, 0);
  device_->Free(*none);
  device_->Free(nullptr);

  const absl::Status status = device_->Allocate(size_t{1} << 50).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1125899906842624 bytes"));
  EXPECT_TRUE(device_->Synchronize().ok());
  device_->Free(Upload({1, 2, 3}));
}

class UnknownLayer : public Layer {
 public:
  UnknownLayer() : Layer({.name = "hidden", .class_name = "Unheard"}, {}, {}) {}
};

TEST_F(CudaTest, ALayerWithoutKernelIsNamed) {
  const absl::Status status = device_->CreateKernel(UnknownLayer(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'hidden' (Unheard)"));
  EXPECT_THAT(device_->name(), StartsWith("cuda:0 ("));
}

TEST(CudaLibraryTest, WithoutADriverThereIsNoGpu) {
  const absl::Status driver = FindCudaDriver();
  const bool has_gpu = LoadCudaDevice(0).ok();
  EXPECT_TRUE(driver.ok() || !has_gpu);
  if (!has_gpu && !driver.ok()) {
    EXPECT_THAT(std::string(driver.message()), StartsWith("no NVIDIA driver is installed: "));
  }
}

// Runs everywhere.
TEST(CudaLibraryTest, AGpuThatIsNotThereIsFailedPreconditionWithAReason) {
  for (const int ordinal : {-1, 1000}) {
    const absl::Status status = LoadCudaDevice(ordinal).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                AnyOf(HasSubstr("libcairn_cuda.so"), HasSubstr("driver"), HasSubstr("GPU")));
  }
}

}  // namespace
}  // namespace cairn::nn
