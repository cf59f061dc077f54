#ifndef CAIRN_NN_CUDA_ID_INPUT_H_
#define CAIRN_NN_CUDA_ID_INPUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "nn/cuda/context.h"
#include "nn/layer.h"

namespace cairn::nn::cuda {

// Ids in device memory, as device code reads them: int32, or floats that are truncated.
struct Ids {
  const float* words = nullptr;
  bool are_floats = false;
  int64_t bound = 0;

  // The id at place i, or -1 if it is not in [0, bound).
  __device__ int64_t At(int64_t i) const {
    if (!are_floats) {
      const int64_t id = reinterpret_cast<const int32_t*>(words)[i];
      return id >= 0 && id < bound ? id : -1;
    }
    const double id = trunc(static_cast<double>(words[i]));
    return id >= 0 && id < static_cast<double>(bound) ? static_cast<int64_t>(id) : -1;
  }
};

// A layer's first input as ids in [0, bound), as in nn/cpu/id_reader.h. The GPU checks them; the
// host looks for the wrong one only if there is one. The layer must outlive the object.
class IdInput {
 public:
  // `bound_name` says in error messages what an id selects: "rows".
  IdInput(const Layer& layer, int64_t examples, int64_t bound, const char* bound_name,
          Context* context);

  int64_t count() const { return count_; }
  int64_t bound() const { return bound_; }
  Ids Of(const float* input) const {
    return {.words = input, .are_floats = are_floats_, .bound = bound_};
  }
  // INVALID_ARGUMENT with the layer, the id and the bound for the first id that is not in
  // [0, bound). Waits for the GPU.
  absl::Status FindInvalid(const float* input) const;

 private:
  Context* const context_;
  const Layer& layer_;
  const int64_t bound_;
  const char* const bound_name_;
  const bool are_floats_;
  const int64_t count_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ID_INPUT_H_
