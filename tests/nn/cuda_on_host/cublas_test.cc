// The stand-in's products against plain loops over row-major matrices.

#include <gtest/gtest.h>

#include <vector>

#include "common/random.h"
#include "cublas_v2.h"

namespace cuda_on_host {
namespace {

class CublasTest : public ::testing::Test {
 protected:
  CublasTest() {
    cudaSetDevice(0);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSetStream(handle_, stream_), CUBLAS_STATUS_SUCCESS);
  }
  ~CublasTest() override {
    for (float* memory : memory_) cudaFree(memory);
    cublasDestroy(handle_);
    cudaStreamDestroy(stream_);
  }

  float* Upload(const std::vector<float>& values) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, values.size() * sizeof(float)), cudaSuccess);
    cudaMemcpyAsync(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice,
                    stream_);
    memory_.push_back(static_cast<float*>(memory));
    return memory_.back();
  }
  std::vector<float> Download(const float* memory, size_t count) {
    std::vector<float> values(count);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), memory, count * sizeof(float), cudaMemcpyDeviceToHost,
                              stream_),
              cudaSuccess);
    return values;
  }

  cudaStream_t stream_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  std::vector<float*> memory_;
};

std::vector<float> Draws(int64_t count, uint64_t key) {
  std::vector<float> draws(count);
  for (int64_t i = 0; i < count; ++i) draws[i] = cairn::RandomUniform(key, i) - 0.5f;
  return draws;
}

// In column-major order op(A)(i, p) is at a[i + p * lda], or transposed at a[p + i * lda].
TEST_F(CublasTest, ProductsOfAllTransposesAreThoseOfPlainLoops) {
  constexpr int kM = 5, kN = 7, kK = 3, kLda = 8, kLdb = 9, kLdc = 6;
  constexpr int kBatches = 3;
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const float beta : {0.0f, 0.5f}) {
        const std::vector<float> a = Draws(200, 1);
        const std::vector<float> b = Draws(200, 2);
        std::vector<float> c = Draws(200, 3);
        const float alpha = 2;
        float* const device_c = Upload(c);
        ASSERT_EQ(cublasSgemmStridedBatched(handle_, a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                            b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, kM, kN, kK,
                                            &alpha, Upload(a), kLda, 50, Upload(b), kLdb, 60, &beta,
                                            device_c, kLdc, 55, kBatches),
                  CUBLAS_STATUS_SUCCESS);
        for (int batch = 0; batch < kBatches; ++batch) {
          for (int i = 0; i < kM; ++i) {
            for (int j = 0; j < kN; ++j) {
              float sum = 0;
              for (int p = 0; p < kK; ++p) {
                sum += a[batch * 50 + (a_transposed ? p + i * kLda : i + p * kLda)] *
                       b[batch * 60 + (b_transposed ? j + p * kLdb : p + j * kLdb)];
              }
              float& at = c[batch * 55 + i + j * kLdc];
              at = alpha * sum + beta * at;
            }
          }
        }
        const std::vector<float> computed = Download(device_c, c.size());
        for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(computed[i], c[i], 1e-5) << i;
      }
    }
  }
}

TEST_F(CublasTest, ProductsOfAnyPlacesAreThoseOfTheirMatrices) {
  constexpr int kM = 2, kN = 3, kK = 4;
  const std::vector<float> a = Draws(20, 1), b = Draws(30, 2);
  float* const device_a = Upload(a);
  float* const device_b = Upload(b);
  float* const device_c = Upload(std::vector<float>(20));
  // The second product is before the first one.
  const std::vector<const float*> places = {device_a + 9, device_a, device_b, device_b + 15};
  const std::vector<float*> targets = {device_c + 7, device_c};
  void* pointers = nullptr;
  ASSERT_EQ(cudaMalloc(&pointers, 6 * sizeof(float*)), cudaSuccess);
  cudaMemcpyAsync(pointers, places.data(), 4 * sizeof(float*), cudaMemcpyHostToDevice, stream_);
  auto* const read = static_cast<const float**>(pointers);
  auto* const written = static_cast<float**>(pointers) + 4;
  cudaMemcpyAsync(written, targets.data(), 2 * sizeof(float*), cudaMemcpyHostToDevice, stream_);
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasSgemmBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_T, kM, kN, kK, &one, read, kM,
                               read + 2, kN, &zero, written, kM, 2),
            CUBLAS_STATUS_SUCCESS);
  const std::vector<float> computed = Download(device_c, 20);
  for (int batch = 0; batch < 2; ++batch) {
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kN; ++j) {
        float sum = 0;
        for (int p = 0; p < kK; ++p) {
          sum += a[(batch == 0 ? 9 : 0) + i + p * kM] * b[batch * 15 + j + p * kN];
        }
        EXPECT_NEAR(computed[(batch == 0 ? 7 : 0) + i + j * kM], sum, 1e-5);
      }
    }
  }
  cudaFree(pointers);
}

// cuBLAS does not read C then, so that NaN in it does not matter.
TEST_F(CublasTest, WithoutBetaTheOldProductIsNotRead) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, sizeof(float)), cudaSuccess);
  auto* const c = static_cast<float*>(memory);
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, Upload({3}), 1,
                        Upload({4}), 1, &zero, c, 1),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Download(c, 1), std::vector<float>{12});
  cudaFree(memory);
}

TEST_F(CublasTest, ALeadingDimensionThatIsTooSmallIsRefused) {
  const float one = 1, zero = 0;
  float* const m = Upload(std::vector<float>(16));
  EXPECT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 2, &one, m, 3, m, 2, &zero, m, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 2, &one, m, 4, m, 2, &zero, m, 3),
            CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace cuda_on_host
