#ifndef CAIRN_NN_CUDA_LAUNCH_H_
#define CAIRN_NN_CUDA_LAUNCH_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <tuple>
#include <utility>

// How kernels are started, and what they need beside CUDA's own names. Only .cu files include this.
//
// The .cu files are compiled by nvcc for GPUs, and by the host's compiler for tests with the
// headers of tests/nn/cuda_on_host. So they use nothing that only nvcc understands: Launch instead
// of <<<>>>, and SharedMemory instead of __shared__ variables, whose size and contents the tests
// could not control.

namespace cairn::nn::cuda {

// Launches kernel<<<grid, block, shared, stream>>>(arguments...).
template <typename... P, typename... A>
cudaError_t Launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                   A... arguments) {
  std::tuple<P...> values(std::move(arguments)...);
  return std::apply(
      [&](P&... value) {
        void* pointers[] = {&value...};
        return cudaLaunchKernel(kernel, grid, block, pointers, shared, stream);
      },
      values);
}

// The memory that a block's threads share, of the launch's size.
template <typename T>
__device__ T* SharedMemory() {
#ifdef CAIRN_CUDA_ON_HOST
  return static_cast<T*>(cuda_on_host::SharedMemory());
#else
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
#endif
}

// Before a loop with a constant number of rounds: the loop is unrolled, so that an array that it
// indexes is in registers.
#ifdef CAIRN_CUDA_ON_HOST
#define CAIRN_UNROLL
#else
#define CAIRN_UNROLL _Pragma("unroll")
#endif

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_LAUNCH_H_
