#ifndef CAIRN_NN_CUDA_ID_READER_H_
#define CAIRN_NN_CUDA_ID_READER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "nn/cuda/context.h"
#include "nn/layer.h"

namespace cairn::nn::cuda {

// Reads a layer's first input as ids in [0, bound), as nn/cpu/id_reader.h does. The ids are copied
// to the host, which checks them; the GPU waits meanwhile. The layer must outlive the reader.
class IdReader {
 public:
  // `bound_name` says in error messages what an id selects: "rows". Throws OutOfMemory.
  IdReader(const Layer& layer, int64_t examples, int64_t bound, const char* bound_name,
           Context* context);

  // INVALID_ARGUMENT with the layer, the id and the bound if an id is not in [0, bound).
  absl::Status Read(const float* input);

  // The ids of the last Read, on the host and in device memory.
  const std::vector<int64_t>& host_ids() const { return host_ids_; }
  const int64_t* ids() const { return ids_.data(); }

 private:
  Context* const context_;
  const Layer& layer_;
  const int64_t bound_;
  const char* const bound_name_;
  std::vector<float> words_;
  std::vector<int64_t> host_ids_;
  DeviceArray<int64_t> ids_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ID_READER_H_
