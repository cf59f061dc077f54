#ifndef CAIRN_NN_CPU_DENSE_PRODUCT_H_
#define CAIRN_NN_CPU_DENSE_PRODUCT_H_

#include <cstdint>
#include <memory>

#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// c = a b for matrices of one size: a has rows x inner, b inner x columns, c rows x columns
// elements; a transposed operand is stored with its two dimensions swapped. Optionally
// c = relu(a b + bias). Belongs to one thread.
class DenseProduct {
 public:
  struct Options {
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t inner = 0;
    bool a_transposed = false;
    bool b_transposed = false;
    // One number per column is added.
    bool adds_bias = false;
    bool applies_relu = false;
  };

  // Throws dnnl::error, which CpuDevice turns into a status.
  DenseProduct(const Options& options, const DnnlContext* context);
  ~DenseProduct();

  // `bias` is looked at only if the options say so.
  void Run(const float* a, const float* b, const float* bias, float* c);

 private:
  struct Primitive;

  void RunPlain(const float* a, const float* b, const float* bias, float* c) const;

  const Options options_;
  const DnnlContext* const context_;
  // Null for products so small that plain loops are faster.
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DENSE_PRODUCT_H_
