#ifndef CAIRN_TESTS_NN_CUDA_ON_HOST_RUNTIME_H_
#define CAIRN_TESTS_NN_CUDA_ON_HOST_RUNTIME_H_

#include <cstdint>
#include <functional>

#include "cuda_runtime_api.h"

namespace cuda_on_host {

// Work of a device, which runs when somebody waits for its stream.
using Work = std::function<cudaError_t()>;

// Appends work to a stream on behalf of the call of this name. A launch is a kernel, a product or a
// fill: what Counts::bytes_read and the like count.
cudaError_t Enqueue(const char* call, cudaStream_t stream, Work work, bool is_launch = true);

// Whether StartMeasuring was called, and if so, counts the multiplications of a product.
bool IsMeasuring(int64_t multiplications);

}  // namespace cuda_on_host

#endif  // CAIRN_TESTS_NN_CUDA_ON_HOST_RUNTIME_H_
