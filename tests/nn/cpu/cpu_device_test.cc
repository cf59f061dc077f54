#include "nn/cpu/cpu_device.h"

#include <cstdint>
#include <cstring>
#include <vector>

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

// Sizes on both sides of where oneDNN takes over, and all four ways to store the operands.
TEST(CpuDeviceTest, ProductsAreThoseOfPlainLoops) {
  CpuDevice device;
  for (const auto& [rows, columns, inner] :
       {std::array<int64_t, 3>{1, 1, 1}, {2, 3, 4}, {17, 33, 65}, {128, 10, 256}, {1, 200, 100}}) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      const bool a_transposed = transposed & 1;
      const bool b_transposed = transposed & 2;
      std::vector<float> a(rows * inner), b(inner * columns), c(rows * columns, -1);
      for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7 % 13) - 6;
      for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 5 % 11) - 5;
      ASSERT_TRUE(device
                      .Multiply({.rows = rows,
                                 .columns = columns,
                                 .inner = inner,
                                 .a = a.data(),
                                 .a_transposed = a_transposed,
                                 .b = b.data(),
                                 .b_transposed = b_transposed,
                                 .c = c.data()})
                      .ok());
      // Whole numbers this small are exact in any order.
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < inner; ++k) {
            sum += static_cast<double>(a[a_transposed ? k * rows + i : i * inner + k]) *
                   b[b_transposed ? j * inner + k : k * columns + j];
          }
          ASSERT_EQ(c[i * columns + j], sum) << rows << "x" << columns << "x" << inner;
        }
      }
    }
  }
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
