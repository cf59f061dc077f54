#ifndef CAIRN_NN_CPU_BATCHED_PRODUCT_H_
#define CAIRN_NN_CPU_BATCHED_PRODUCT_H_

#include <cstdint>
#include <memory>

#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// Batched matrix product c = a b (oneDNN matmul) for matrices of one size, indexed by example and
// head. Strides are in elements. Used by one thread.
class BatchedProduct {
 public:
  struct Strides {
    int64_t example = 0;
    int64_t head = 0;
    int64_t row = 0;
    int64_t column = 0;
    Strides Transposed() const { return {example, head, column, row}; }
  };
  struct Options {
    int64_t examples = 0;
    int64_t heads = 0;
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t inner = 0;
    Strides a;
    Strides b;
    Strides c;
  };

  // Throws dnnl::error, which CpuDevice turns into a status.
  BatchedProduct(const Options& options, const DnnlContext* context);
  ~BatchedProduct();

  void Run(const float* a, const float* b, float* c);

 private:
  struct Primitive;
  const DnnlContext* const context_;
  const std::unique_ptr<Primitive> primitive_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_BATCHED_PRODUCT_H_
