#ifndef CAIRN_NN_CUDA_MATRIX_VIEW_H_
#define CAIRN_NN_CUDA_MATRIX_VIEW_H_

#include <cstdint>
#include <vector>

#include "nn/cuda/context.h"

namespace cairn::nn::cuda {

// Axes of a tensor in some order, outermost first. Axes of size 1 are left out, and two axes that
// are one in memory are joined. So a tensor has at most 40 axes, and the batch.
struct StridedAxes {
  static constexpr int kMax = 41;  // kTensorElementsMax is 2^40.
  int count = 0;
  int64_t sizes[kMax] = {};
  int64_t strides[kMax] = {};

  void Append(int64_t size, int64_t stride);
  void Append(const StridedAxes& axes);
  int64_t ElementCount() const;
};

// A tensor as a batch of row-major matrices. The matrices are used where they are if the tensor's
// layout permits that, and else copied. Used by one thread.
class MatrixView {
 public:
  // The axes that count the matrices, their rows and their columns. Throws OutOfMemory.
  MatrixView(Context* context, const StridedAxes& batch, const StridedAxes& rows,
             const StridedAxes& columns);

  // From a row, and from a matrix, to the next one, in elements.
  int64_t row_stride() const { return row_stride_; }
  int64_t batch_stride() const { return batch_stride_; }

  // The matrices of `tensor`. Valid until the next call of Read or Target.
  const float* Read(const float* tensor) const;
  // Where to write the matrices, before Store with the same tensor.
  float* Target(float* tensor) const { return is_direct_ ? tensor : copy_.data(); }
  void Store(float* tensor) const;

 private:
  Context* const context_;
  const StridedAxes axes_;  // Of batch, rows and columns.
  const bool is_direct_;
  const int64_t row_stride_;
  const int64_t batch_stride_;
  DeviceArray<float> copy_;
};

// values[i] += bias[j], where j is the element with the index i of `axes`.
void AddBroadcast(Context* context, const StridedAxes& axes, const float* bias, float* values);
// Writes for each index of `kept` the sum of `values` over the indices of `summed`.
void SumAxes(Context* context, const StridedAxes& kept, const StridedAxes& summed,
             const float* values, float* sums);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_MATRIX_VIEW_H_
