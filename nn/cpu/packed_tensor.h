#ifndef CAIRN_NN_CPU_PACKED_TENSOR_H_
#define CAIRN_NN_CPU_PACKED_TENSOR_H_

#include <cstdint>
#include <optional>

#include "nn/cpu/blocked_kernel.h"
#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// A tensor in the layout that a oneDNN primitive requires. If that differs from the model's layout,
// the tensor is reordered through scratch memory that the caller lends:
//
//   primitive.execute(stream, {{DNNL_ARG_SRC, input.Load(values, lent)},
//                              {DNNL_ARG_DST, output.Target(result, other_lent)}});
//   output.Store();
//
// Used by one thread.
class PackedTensor {
 public:
  PackedTensor() = default;
  // `wanted` and `plain` describe the same tensor in the primitive's and the model's layout. Throws
  // dnnl::error.
  PackedTensor(const dnnl::memory::desc& wanted, const dnnl::memory::desc& plain,
               const DnnlContext* context);

  // The number of floats of scratch memory needed; 0 if the layouts are the same.
  int64_t scratch() const { return scratch_; }

  // Reorders `plain` if necessary and returns the memory for the primitive to read. `lent` must
  // stay valid while that is used.
  const dnnl::memory& Load(const float* plain, float* lent);
  // Returns the memory for the primitive to write.
  const dnnl::memory& Target(float* plain, float* lent);
  // After the primitive has run: reorders the result to the `plain` of the last Target if
  // necessary.
  void Store();

 private:
  const DnnlContext* context_ = nullptr;
  int64_t scratch_ = 0;
  dnnl::memory packed_;
  dnnl::memory plain_;
  // Reorders: BlockedKernel if it supports the layout, otherwise oneDNN's, created on first use.
  std::optional<BlockedKernel> blocked_;
  std::optional<dnnl::reorder> load_;
  std::optional<dnnl::reorder> store_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_PACKED_TENSOR_H_
