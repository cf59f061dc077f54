#include "tests/nn/cuda_on_host/runtime.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/nn/cuda_on_host/cuda_on_host.h"

namespace cuda_on_host {
namespace {

void Fill(int64_t count, float value, float* to) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) to[i] = value;
}

void Increment(int64_t count, float* values) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1;
}

void SomeMissTheBarrier() {
  if (threadIdx.x == 0) __syncthreads();
}

class RuntimeTest : public ::testing::Test {
 protected:
  RuntimeTest() {
    SetSeed(1);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    stream_ = NewStream();
    memory_ = NewMemory(kCount);
  }
  ~RuntimeTest() override {
    Recover();
    cudaSetDevice(0);
    for (float* memory : all_memory_) cudaFree(memory);
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }

  cudaStream_t NewStream() {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    streams_.push_back(stream);
    return stream;
  }
  float* NewMemory(size_t count) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count * sizeof(float)), cudaSuccess);
    all_memory_.push_back(static_cast<float*>(memory));
    return all_memory_.back();
  }
  cudaError_t LaunchFill(float value, cudaStream_t stream, dim3 grid = 1, dim3 block = 128) {
    int64_t count = kCount;
    void* arguments[] = {&count, &value, &memory_};
    return cudaLaunchKernel(Fill, grid, block, arguments, 0, stream);
  }
  std::vector<float> Download(cudaStream_t stream) {
    std::vector<float> values(kCount);
    download_ = cudaMemcpyAsync(values.data(), memory_, kCount * sizeof(float),
                                cudaMemcpyDeviceToHost, stream);
    return values;
  }

  static constexpr size_t kCount = 100;
  cudaStream_t stream_ = nullptr;
  float* memory_ = nullptr;
  cudaError_t download_ = cudaSuccess;
  std::vector<cudaStream_t> streams_;
  std::vector<float*> all_memory_;
};

TEST_F(RuntimeTest, AStreamKeepsTheOrderOfItsWork) {
  const int64_t before = KernelCount();
  ASSERT_EQ(LaunchFill(1, stream_), cudaSuccess);
  ASSERT_EQ(LaunchFill(2, stream_), cudaSuccess);
  EXPECT_EQ(Download(stream_), std::vector<float>(kCount, 2));
  EXPECT_EQ(KernelCount(), before + 2);
}

TEST_F(RuntimeTest, NewMemoryIsNaN) {
  for (float value : Download(stream_)) EXPECT_TRUE(std::isnan(value));
}

// Without the event one of the seeds runs the copy first.
TEST_F(RuntimeTest, OnlyAnEventOrdersTwoStreams) {
  cudaStream_t second = NewStream();
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  int early = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const bool waits : {false, true}) {
      SetSeed(seed);
      ASSERT_EQ(cudaMemsetAsync(memory_, 0, kCount * sizeof(float), stream_), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      ASSERT_EQ(LaunchFill(3, stream_), cudaSuccess);
      ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
      if (waits) {
        ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
      }
      const std::vector<float> values = Download(second);
      if (waits) {
        EXPECT_EQ(values, std::vector<float>(kCount, 3)) << "seed " << seed;
      } else if (values[0] == 0) {
        ++early;
      }
    }
  }
  EXPECT_GT(early, 0);
  cudaEventDestroy(event);
}

TEST_F(RuntimeTest, ACopyReadsPinnedMemoryLateAndPageableMemoryAtOnce) {
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, kCount * sizeof(float)), cudaSuccess);
  std::vector<float> pageable(kCount, 1);
  for (void* host : {pinned, static_cast<void*>(pageable.data())}) {
    auto* const values = static_cast<float*>(host);
    values[0] = 1;
    ASSERT_EQ(
        cudaMemcpyAsync(memory_, values, kCount * sizeof(float), cudaMemcpyHostToDevice, stream_),
        cudaSuccess);
    values[0] = 2;
    EXPECT_EQ(Download(stream_)[0], host == pinned ? 2 : 1);
  }
  cudaFreeHost(pinned);
}

TEST_F(RuntimeTest, TheHostCannotReadDeviceMemory) {
  const auto read = [this] {
    const volatile float value = memory_[0];
    static_cast<void>(value);
    std::_Exit(0);
  };
  EXPECT_DEATH(read(), "");
}

TEST_F(RuntimeTest, AWriteBehindTheEndIsFoundWhenTheMemoryIsFreed) {
  const auto overrun = [this] {
    void* memory = nullptr;
    cudaMalloc(&memory, 10);
    cudaMemsetAsync(memory, 0, 11, stream_);
    cudaFree(memory);
  };
  EXPECT_DEATH(overrun(), "byte 10 was written of an allocation of 10 bytes");
}

TEST_F(RuntimeTest, AnErrorOfAKernelIsReturnedByWhoWaitsAndByAllLaterCalls) {
  ASSERT_EQ(cudaLaunchKernel(SomeMissTheBarrier, 1, 32, nullptr, 0, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure);
  EXPECT_EQ(LaunchFill(1, stream_), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  // The other device goes on.
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  Recover();
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(LaunchFill(1, stream_), cudaSuccess);
}

TEST_F(RuntimeTest, WrongLaunchesAndCopiesAreRefused) {
  EXPECT_EQ(LaunchFill(1, stream_, 1, 1025), cudaErrorInvalidConfiguration);
  EXPECT_EQ(LaunchFill(1, stream_, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(LaunchFill(1, stream_, dim3(1, 65536)), cudaErrorInvalidConfiguration);
  float host[1] = {};
  EXPECT_EQ(cudaMemcpyAsync(host, memory_, 4, cudaMemcpyHostToDevice, stream_),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(memory_, host, 4, cudaMemcpyDeviceToDevice, stream_),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeTest, CallsFailOnDemand) {
  FailCall("cudaMalloc", cudaErrorMemoryAllocation, 1);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  cudaFree(memory);
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  cudaFree(memory);
  EXPECT_EQ(cudaMalloc(&memory, size_t{1} << 50), cudaErrorMemoryAllocation);
  LoseDevice(0);
  EXPECT_EQ(LaunchFill(1, stream_), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure);
}

// A page has 1024 floats.
TEST_F(RuntimeTest, PagesThatLaunchesReadAndWriteAreMeasured) {
  constexpr int64_t kPage = 4096;
  float* const other = NewMemory(1024);
  memory_ = NewMemory(3 * 1024);
  StartMeasuring();
  const auto measured = [&](int64_t read, int64_t written) {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(CountsOfCalls().bytes_read, read * kPage);
    EXPECT_EQ(CountsOfCalls().bytes_written, written * kPage);
    ResetCounts();
  };
  ResetCounts();
  int64_t count = 1025;
  float value = 7;
  void* fill[] = {&count, &value, &memory_};
  ASSERT_EQ(cudaLaunchKernel(Fill, 9, 128, fill, 0, stream_), cudaSuccess);
  measured(0, 2);
  void* increment[] = {&count, &memory_};
  ASSERT_EQ(cudaLaunchKernel(Increment, 9, 128, increment, 0, stream_), cudaSuccess);
  measured(2, 2);
  ASSERT_EQ(cudaMemsetAsync(memory_ + 2048, 0, 4, stream_), cudaSuccess);
  measured(0, 1);
  ASSERT_EQ(cudaMemcpyAsync(other, memory_, kPage, cudaMemcpyDeviceToDevice, stream_), cudaSuccess);
  measured(1, 1);
  EXPECT_EQ(Download(stream_), std::vector<float>(kCount, 8));
  measured(0, 0);
  StopMeasuring();
  ASSERT_EQ(cudaLaunchKernel(Fill, 9, 128, fill, 0, stream_), cudaSuccess);
  measured(0, 0);
}

TEST_F(RuntimeTest, DevicesAreCounted) {
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
}

}  // namespace
}  // namespace cuda_on_host
