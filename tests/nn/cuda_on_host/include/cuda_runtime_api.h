// The stand-in for CUDA's header of the same name: the part of the CUDA runtime that nn/cuda uses,
// on the host. See ../cuda_on_host.h for what it does differently.

#ifndef CAIRN_TESTS_NN_CUDA_ON_HOST_INCLUDE_CUDA_RUNTIME_API_H_
#define CAIRN_TESTS_NN_CUDA_ON_HOST_INCLUDE_CUDA_RUNTIME_API_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>

#define CUDART_VERSION 13000

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

namespace cuda_on_host {
struct Stream;
struct Event;
}  // namespace cuda_on_host
using cudaStream_t = cuda_on_host::Stream*;
using cudaEvent_t = cuda_on_host::Event*;

constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;

struct cudaDeviceProp {
  char name[256];
};

struct dim3 {
  constexpr dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1)
      : x(width), y(height), z(depth) {}
  unsigned x;
  unsigned y;
  unsigned z;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

// What kernels are written with.
#define __global__
#define __device__
#define __host__

namespace cuda_on_host {

// The position of the thread that runs.
struct Position {
  dim3 thread;
  dim3 block;
  dim3 block_size;
  dim3 grid;
};
extern thread_local constinit Position position;

// The memory that the threads of the block share, of the launch's size.
void* SharedMemory();
// The barrier of the block's threads.
void SyncThreads();

// A kernel's thread, with its arguments.
using ThreadBody = std::function<void()>;
cudaError_t EnqueueKernel(ThreadBody body, dim3 grid, dim3 block, size_t shared,
                          cudaStream_t stream);

template <typename... P, size_t... I>
ThreadBody BindKernel(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
  return [kernel, values = std::tuple<P...>(*static_cast<P*>(arguments[I])...)] {
    std::apply(kernel, values);
  };
}

}  // namespace cuda_on_host

#define threadIdx (::cuda_on_host::position.thread)
#define blockIdx (::cuda_on_host::position.block)
#define blockDim (::cuda_on_host::position.block_size)
#define gridDim (::cuda_on_host::position.grid)

inline void __syncthreads() { ::cuda_on_host::SyncThreads(); }

// As CUDA's C++ form of the call, which knows the kernel's type. The arguments are copied.
template <typename... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return cuda_on_host::EnqueueKernel(
      cuda_on_host::BindKernel(kernel, arguments, std::index_sequence_for<P...>()), grid, block,
      shared, stream);
}

#endif  // CAIRN_TESTS_NN_CUDA_ON_HOST_INCLUDE_CUDA_RUNTIME_API_H_
