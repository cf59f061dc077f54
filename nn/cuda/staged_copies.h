#ifndef CAIRN_NN_CUDA_STAGED_COPIES_H_
#define CAIRN_NN_CUDA_STAGED_COPIES_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/cuda/cuda_handles.h"

namespace cairn::nn {

// Copies between pageable host memory and one GPU, in the order of a stream, through two pinned
// buffers: while the GPU transfers one buffer, the host fills or drains the other. A buffer holds
// many small copies, so that ToDevice rarely waits. The stream must outlive the object; `device`
// is the GPU's name for messages. The GPU must be the calling thread's current one. Used by one
// thread.
class StagedCopies {
 public:
  static absl::StatusOr<std::unique_ptr<StagedCopies>> Create(cudaStream_t stream,
                                                              std::string device);

  // Returns when `host` has been read. The copy completes later, in the stream's order. Waits only
  // if both buffers are full.
  absl::Status ToDevice(void* device, const void* host, size_t bytes);
  // Returns when `host` has been written.
  absl::Status FromDevice(void* host, const void* device, size_t bytes);

 private:
  struct Buffer {
    PinnedMemory memory;
    // The bytes at the beginning that copies to the device may still read.
    size_t used = 0;
    // Recorded after the last copy from or to `memory`.
    CudaEvent copied;
  };

  StagedCopies(cudaStream_t stream, std::string device)
      : stream_(stream), device_(std::move(device)) {}

  absl::Status Send(Buffer* buffer, void* device, const char* host, size_t bytes);
  absl::Status Fetch(Buffer* buffer, const char* device, size_t bytes);
  absl::Status Wait(const Buffer& buffer);

  const cudaStream_t stream_;
  const std::string device_;
  std::array<Buffer, 2> buffers_;
  // The buffer that ToDevice fills.
  size_t turn_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_STAGED_COPIES_H_
