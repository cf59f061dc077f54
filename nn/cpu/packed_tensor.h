#ifndef CAIRN_NN_CPU_PACKED_TENSOR_H_
#define CAIRN_NN_CPU_PACKED_TENSOR_H_

#include <cstdint>
#include <optional>

#include "nn/cpu/blocked_kernel.h"
#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// A tensor in the layout that a primitive works on. Where that is not the model's it is copied
// there or back, through memory that the caller lends. Belongs to one thread.
class PackedTensor {
 public:
  PackedTensor() = default;
  // `wanted` and `plain` are the same tensor in the two layouts. Throws dnnl::error.
  PackedTensor(const dnnl::memory::desc& wanted, const dnnl::memory::desc& plain,
               const DnnlContext* context);

  // How many floats must be lent; 0 if the layouts are the same.
  int64_t scratch() const { return scratch_; }

  // What the primitive reads, once `plain` has been copied there. `lent` is borrowed by what is
  // returned.
  const dnnl::memory& Load(const float* plain, float* lent);
  // What the primitive shall write to, ...
  const dnnl::memory& Target(float* plain, float* lent);
  // ... and afterwards the way to the `plain` of the same Target.
  void Store();

 private:
  const DnnlContext* context_ = nullptr;
  int64_t scratch_ = 0;
  dnnl::memory packed_;
  dnnl::memory plain_;
  // Own copies where there are any, else oneDNN's, which are made when they are first needed.
  std::optional<BlockedKernel> blocked_;
  std::optional<dnnl::reorder> load_;
  std::optional<dnnl::reorder> store_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_PACKED_TENSOR_H_
