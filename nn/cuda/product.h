#ifndef CAIRN_NN_CUDA_PRODUCT_H_
#define CAIRN_NN_CUDA_PRODUCT_H_

#include <cstdint>

#include "nn/cuda/context.h"

namespace cairn::nn::cuda {

// A product of row-major matrices, c = op(a) op(b), or a batch of them. op transposes if the
// options say so.
struct Product {
  int64_t rows = 0;     // of op(a) and c
  int64_t columns = 0;  // of op(b) and c
  int64_t inner = 0;    // of op(a)'s columns and op(b)'s rows
  bool a_transposed = false;
  bool b_transposed = false;
  // From a matrix's row to the next one, in elements; 0: they are adjacent.
  int64_t a_row_stride = 0;
  int64_t b_row_stride = 0;
  int64_t c_row_stride = 0;
  // From a matrix of the batch to the next one.
  int64_t batches = 1;
  int64_t a_batch_stride = 0;
  int64_t b_batch_stride = 0;
  int64_t c_batch_stride = 0;
  // If true, the product is added to c.
  bool adds = false;
  // If true, in float32 whatever the context's precision is.
  bool is_exact = false;
};

// Computes in the context's precision, unless it is to be exact.
void Multiply(Context* context, const Product& product, const float* a, const float* b, float* c);

// A product c = op(a) op(b) for each example and head, of matrices that stay where they are. One
// call of cuBLAS, although the matrices of examples and heads have different strides. The
// constructor throws OutOfMemory.
class BatchedProduct {
 public:
  struct Matrices {
    float* data = nullptr;
    int64_t example_stride = 0;
    int64_t head_stride = 0;
    int64_t row_stride = 0;
    bool is_transposed = false;

    Matrices Transposed() const {
      return {data, example_stride, head_stride, row_stride, !is_transposed};
    }
  };
  struct Options {
    int64_t examples = 0;
    int64_t heads = 0;
    int64_t rows = 0;     // of op(a) and c
    int64_t columns = 0;  // of op(b) and c
    int64_t inner = 0;    // of op(a)'s columns and op(b)'s rows
    Matrices a;
    Matrices b;
    Matrices c;  // Not transposed.
  };

  BatchedProduct(const Options& options, Context* context);

  // Computes in the context's precision.
  void Run() const;

 private:
  int64_t count() const { return options_.examples * options_.heads; }

  Context* const context_;
  const Options options_;
  // Where the matrices are: all a, then all b, then all c.
  DeviceArray<float*> places_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_PRODUCT_H_
