#ifndef CAIRN_NN_CUDA_CUDA_HANDLES_H_
#define CAIRN_NN_CUDA_CUDA_HANDLES_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace cairn::nn {

// Owning handles for CUDA resources. Errors of the destroy functions are ignored.
template <auto kDestroy>
struct CudaDeleter {
  template <typename T>
  void operator()(T* handle) const {
    kDestroy(handle);
  }
};

using CudaStream =
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, CudaDeleter<cudaStreamDestroy>>;
using CudaEvent =
    std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, CudaDeleter<cudaEventDestroy>>;
// Page-locked host memory, which the GPU accesses by DMA.
using PinnedMemory = std::unique_ptr<char, CudaDeleter<cudaFreeHost>>;

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_CUDA_HANDLES_H_
