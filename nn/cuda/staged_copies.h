#ifndef CAIRN_NN_CUDA_STAGED_COPIES_H_
#define CAIRN_NN_CUDA_STAGED_COPIES_H_

#include <array>
#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "nn/cuda/cuda_handles.h"

namespace cairn::nn {

// Copies between ordinary host memory and one GPU, in the order of a stream, through two pinned
// buffers: while the GPU moves the one, the host fills or empties the other. The stream must
// outlive it; the GPU must be the thread's current one. Belongs to one thread.
class StagedCopies {
 public:
  static absl::StatusOr<std::unique_ptr<StagedCopies>> Create(cudaStream_t stream);

  // Returns when `host` was read; the end of the copy is still to come, in the stream's order.
  absl::Status ToDevice(void* device, const void* host, size_t bytes);
  // Returns when `host` was written.
  absl::Status FromDevice(void* host, const void* device, size_t bytes);

 private:
  struct Buffer {
    PinnedMemory memory;
    // The last copy from or to `memory`.
    CudaEvent copied;
  };

  explicit StagedCopies(cudaStream_t stream) : stream_(stream) {}

  absl::Status Send(Buffer* buffer, void* device, const char* host, size_t bytes);
  absl::Status Fetch(Buffer* buffer, const char* device, size_t bytes);
  absl::Status Wait(const Buffer& buffer);

  const cudaStream_t stream_;
  std::array<Buffer, 2> buffers_;
  // The buffer whose turn it is to send.
  size_t turn_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_STAGED_COPIES_H_
