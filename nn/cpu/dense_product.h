#ifndef CAIRN_NN_CPU_DENSE_PRODUCT_H_
#define CAIRN_NN_CPU_DENSE_PRODUCT_H_

#include <cstdint>
#include <memory>

#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// Matrix product c = a b for matrices of one size, optionally c = relu(a b + bias). a is rows x
// inner, b is inner x columns and c is rows x columns, all row-major; a transposed operand is
// stored with its two dimensions swapped. Used by one thread.
class DenseProduct {
 public:
  struct Options {
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t inner = 0;
    bool a_transposed = false;
    bool b_transposed = false;
    // If true, a bias (one number per column) is added.
    bool adds_bias = false;
    bool applies_relu = false;
  };

  // Throws dnnl::error, which CpuDevice turns into a status.
  DenseProduct(const Options& options, const DnnlContext* context);
  ~DenseProduct();

  // `bias` is read only if options.adds_bias.
  void Run(const float* a, const float* b, const float* bias, float* c);

 private:
  struct Primitive;

  void RunPlain(const float* a, const float* b, const float* bias, float* c) const;

  const Options options_;
  const DnnlContext* const context_;
  // The oneDNN primitive; null for products so small that plain loops are faster.
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DENSE_PRODUCT_H_
