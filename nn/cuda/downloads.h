#ifndef CAIRN_NN_CUDA_DOWNLOADS_H_
#define CAIRN_NN_CUDA_DOWNLOADS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/cuda/cuda_handles.h"

namespace cairn::nn {

// Copies from one GPU to pinned memory, on a stream of their own: the GPU computes meanwhile. The
// GPU must be the calling thread's current one. Used by one thread.
class Downloads {
 public:
  // `compute`, the stream that computes what is copied, must outlive the object. `device` is the
  // GPU's name for messages.
  static absl::StatusOr<std::unique_ptr<Downloads>> Create(cudaStream_t compute,
                                                           std::string device);

  // Starts a copy that follows the work submitted to `compute` so far, and returns its number.
  absl::StatusOr<int64_t> Start(void* pinned, const void* device, size_t bytes);
  // Returns when this copy and all earlier ones are complete.
  absl::Status Wait(int64_t copy);
  // The same for all copies.
  cudaError_t WaitForAll() { return cudaStreamSynchronize(stream_.get()); }

 private:
  struct Copy {
    int64_t number = 0;
    CudaEvent complete;
  };

  Downloads(cudaStream_t compute, std::string device)
      : compute_(compute), device_(std::move(device)) {}

  absl::StatusOr<CudaEvent> TakeEvent();

  const cudaStream_t compute_;
  const std::string device_;
  CudaStream stream_;
  CudaEvent computed_;
  std::deque<Copy> pending_;
  std::vector<CudaEvent> unused_;
  int64_t last_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_DOWNLOADS_H_
