#include "nn/cpu/cpu_device.h"

#include <cstdint>
#include <cstring>

#include "gtest/gtest.h"
#include "nn/device_buffer.h"
#include "tests/nn/test_model.h"

namespace cairn::nn {
namespace {

TEST(CpuDeviceTest, MemoryIsAlignedAndHoldsWhatWasCopied) {
  CpuDevice device;
  const absl::StatusOr<DeviceBuffer> buffer = DeviceBuffer::Create(&device, 3);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
  const float values[] = {1, 2, 3};
  float back[3] = {};
  ASSERT_TRUE(device.CopyToDevice(buffer->data(), values, sizeof(values)).ok());
  ASSERT_TRUE(device.CopyFromDevice(back, buffer->data(), sizeof(back)).ok());
  EXPECT_EQ(std::memcmp(values, back, sizeof(values)), 0);
}

TEST(CpuDeviceTest, MoreMemoryThanThereIsIsRefused) {
  CpuDevice device;
  EXPECT_EQ(device.Allocate(size_t{1} << 60).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device.Allocate(SIZE_MAX).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(CpuDeviceTest, ALayerWithoutAKernelIsNamed) {
  CpuDevice device;
  const auto model = testing::ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 5]})"}});
  const absl::Status status =
      device.CreateKernel(*model->nodes()[0].layer, {.examples = 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("'input' (InputLayer)"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace cairn::nn
