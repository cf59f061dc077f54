// The stand-in's products against plain loops over row-major matrices.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "common/random.h"
#include "cublas_v2.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"

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

  // One product of untransposed matrices.
  cublasStatus_t Multiply(int m, int n, int k, const float* a, int lda, const float* b, int ldb,
                          float* c, int ldc, cublasComputeType_t type = CUBLAS_COMPUTE_32F) {
    const float one = 1, zero = 0;
    return cublasGemmStridedBatchedEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a,
                                      CUDA_R_32F, lda, 0, b, CUDA_R_32F, ldb, 0, &zero, c,
                                      CUDA_R_32F, ldc, 0, 1, type, CUBLAS_GEMM_DEFAULT);
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
        ASSERT_EQ(cublasGemmStridedBatchedEx(
                      handle_, a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                      b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, kM, kN, kK, &alpha, Upload(a),
                      CUDA_R_32F, kLda, 50, Upload(b), CUDA_R_32F, kLdb, 60, &beta, device_c,
                      CUDA_R_32F, kLdc, 55, kBatches, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
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
  auto* const read = static_cast<const void**>(pointers);
  auto* const written = static_cast<void**>(pointers) + 4;
  cudaMemcpyAsync(written, targets.data(), 2 * sizeof(float*), cudaMemcpyHostToDevice, stream_);
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasGemmBatchedEx(handle_, CUBLAS_OP_N, CUBLAS_OP_T, kM, kN, kK, &one, read,
                                CUDA_R_32F, kM, read + 2, CUDA_R_32F, kN, &zero, written,
                                CUDA_R_32F, kM, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
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
  ASSERT_EQ(Multiply(1, 1, 1, Upload({3}), 1, Upload({4}), 1, c, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Download(c, 1), std::vector<float>{12});
  cudaFree(memory);
}

TEST_F(CublasTest, AMeasuredProductTouchesItsMatricesOnly) {
  float* const a = Upload(std::vector<float>(2 * 4, 1));
  float* const b = Upload(std::vector<float>(4 * 3, 1));
  float* const c = Upload(std::vector<float>(2 * 3, 1));
  StartMeasuring();
  ResetCounts();
  ASSERT_EQ(Multiply(2, 3, 4, a, 2, b, 4, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Download(c, 6), std::vector<float>(6, 0));
  StopMeasuring();
  EXPECT_EQ(CountsOfCalls().multiplications, 24);
  EXPECT_EQ(CountsOfCalls().bytes_read, 2 * 4096);
  EXPECT_EQ(CountsOfCalls().bytes_written, 4096);
}

TEST_F(CublasTest, ALeadingDimensionThatIsTooSmallIsRefused) {
  float* const m = Upload(std::vector<float>(16));
  EXPECT_EQ(Multiply(4, 2, 2, m, 3, m, 2, m, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(Multiply(4, 2, 2, m, 4, m, 2, m, 3), CUBLAS_STATUS_INVALID_VALUE);
}

// 7 bits of fraction are left, or 10. In the middle of two numbers the even one is taken. Only
// float16 has fewer exponents: its numbers are multiples of 2^-24, and 65520 is the first that is
// infinite.
TEST_F(CublasTest, InputsAreRoundedAsTheTypeAllows) {
  struct Case {
    float input;
    float tf32;
    float bfloat16;
    float float16;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {{1 + 0x1p-12f, 1, 1, 1},
                        {1 + 0x1p-11f, 1, 1, 1},
                        {1 + 0x1.8p-11f, 1 + 0x1p-10f, 1, 1 + 0x1p-10f},
                        {1 + 0x1p-10f, 1 + 0x1p-10f, 1, 1 + 0x1p-10f},
                        {1 + 0x1p-8f, 1 + 0x1p-8f, 1, 1 + 0x1p-8f},
                        {-1 - 0x1.8p-7f, -1 - 0x1.8p-7f, -1 - 0x1p-6f, -1 - 0x1.8p-7f},
                        {0x1p-24f, 0x1p-24f, 0x1p-24f, 0x1p-24f},
                        {0x1.8p-24f, 0x1.8p-24f, 0x1.8p-24f, 0x1p-23f},
                        {0x1p-25f, 0x1p-25f, 0x1p-25f, 0},
                        {65504, 65504, 65536, 65504},
                        {-65520, -65536, -65536, -infinity},
                        {3 * 0x1p-130f, 3 * 0x1p-130f, 3 * 0x1p-130f, 0}};
  float* const c = Upload({0});
  for (const Case& expected : cases) {
    const float* const input = Upload({expected.input});
    const float* const one = Upload({1});
    for (const bool is_first : {false, true}) {
      const auto product = [&](cublasComputeType_t type) {
        EXPECT_EQ(
            Multiply(1, 1, 1, is_first ? input : one, 1, is_first ? one : input, 1, c, 1, type),
            CUBLAS_STATUS_SUCCESS);
        return Download(c, 1)[0];
      };
      EXPECT_EQ(product(CUBLAS_COMPUTE_32F), expected.input);
      EXPECT_EQ(product(CUBLAS_COMPUTE_32F_FAST_TF32), expected.tf32);
      EXPECT_EQ(product(CUBLAS_COMPUTE_32F_FAST_16BF), expected.bfloat16);
      EXPECT_EQ(product(CUBLAS_COMPUTE_32F_FAST_16F), expected.float16);
    }
  }
}

}  // namespace
}  // namespace cuda_on_host
