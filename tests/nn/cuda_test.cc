#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/random.h"
#include "nn/cuda/load_cuda_device.h"
#include "nn/layer.h"

namespace cairn::nn {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Skips, saying why, where there is no GPU.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Device>> device = LoadCudaDevice(0);
    if (absl::IsUnavailable(device.status())) GTEST_SKIP() << device.status();
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  // `values` on the GPU.
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

struct Matrix {
  const std::vector<float>& values;
  int64_t rows, columns;
  bool transposed;

  double At(int64_t row, int64_t column) const {
    return transposed ? values[column * rows + row] : values[row * columns + column];
  }
};

// The largest deviation of c from a b in units of what rounding in float32 may cost: TF32, with
// its 10 bits of mantissa, would come to hundreds.
double Deviation(const Matrix& a, const Matrix& b, const std::vector<float>& c) {
  double worst = 0;
  for (int64_t row = 0; row < a.rows; ++row) {
    for (int64_t column = 0; column < b.columns; ++column) {
      double sum = 0, magnitude = 0;
      for (int64_t i = 0; i < a.columns; ++i) {
        const double term = a.At(row, i) * b.At(i, column);
        sum += term;
        magnitude += std::abs(term);
      }
      const double unit = std::numeric_limits<float>::epsilon() * (magnitude + 1e-30);
      worst = std::max(worst, std::abs(c[row * b.columns + column] - sum) / unit);
    }
  }
  return worst;
}

TEST_F(CudaTest, ProductsOfAwkwardShapesEqualADoubleLoop) {
  const std::tuple<int64_t, int64_t, int64_t> shapes[] = {
      {1, 1, 1}, {1, 7, 3}, {7, 1, 3}, {3, 5, 1}, {17, 33, 65}, {128, 64, 32}, {127, 129, 255},
  };
  for (const auto& [rows, columns, inner] : shapes) {
    const std::vector<float> a = Draws(rows * inner, 1), b = Draws(inner * columns, 2);
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        float* on_gpu[] = {Upload(a), Upload(b), Upload(std::vector<float>(rows * columns, NAN))};
        ASSERT_TRUE(device_
                        ->Multiply({.rows = rows,
                                    .columns = columns,
                                    .inner = inner,
                                    .a = on_gpu[0],
                                    .a_transposed = a_transposed,
                                    .b = on_gpu[1],
                                    .b_transposed = b_transposed,
                                    .c = on_gpu[2]})
                        .ok());
        EXPECT_LT(Deviation({a, rows, inner, a_transposed}, {b, inner, columns, b_transposed},
                            Download(on_gpu[2], rows * columns)),
                  16)
            << rows << " x " << inner << (a_transposed ? "'" : "") << " by " << inner << " x "
            << columns << (b_transposed ? "'" : "");
        for (float* memory : on_gpu) device_->Free(memory);
      }
    }
  }
}

TEST_F(CudaTest, AnEmptySumIsZeroAndAnEmptyProductIsLeftAlone) {
  float* c = Upload({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(device_->Multiply({.rows = 0, .columns = 3, .inner = 4, .c = c}).ok());
  EXPECT_EQ(Download(c, 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(device_->Multiply({.rows = 2, .columns = 2, .inner = 0, .c = c}).ok());
  EXPECT_EQ(Download(c, 6), (std::vector<float>{0, 0, 0, 0, 5, 6}));
  device_->Free(c);
}

// From less than one staging buffer to many, with odd ends.
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
  UnknownLayer() : Layer({.name = "hidden", .class_name = "Dense"}, {}, {}) {}
};

TEST_F(CudaTest, ALayerWithoutKernelIsNamed) {
  const absl::Status status = device_->CreateKernel(UnknownLayer(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'hidden' (Dense)"));
  EXPECT_THAT(device_->name(), StartsWith("cuda:0 ("));
}

// Runs everywhere.
TEST(CudaLibraryTest, AGpuThatIsNotThereIsUnavailableWithAReason) {
  for (const int ordinal : {-1, 1000}) {
    const absl::Status status = LoadCudaDevice(ordinal).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()),
                AnyOf(HasSubstr("libcairn_cuda.so"), HasSubstr("driver"), HasSubstr("GPU")));
  }
}

}  // namespace
}  // namespace cairn::nn
