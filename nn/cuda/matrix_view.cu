#include "nn/cuda/loops.h"
#include "nn/cuda/matrix_view.h"

namespace cairn::nn::cuda {
namespace {

// Where the element with this index is.
__device__ int64_t OffsetOf(const StridedAxes& axes, int64_t index) {
  int64_t offset = 0;
  for (int axis = axes.count - 1; axis >= 0; --axis) {
    offset += index % axes.sizes[axis] * axes.strides[axis];
    index /= axes.sizes[axis];
  }
  return offset;
}

StridedAxes Joined(const StridedAxes& batch, const StridedAxes& rows, const StridedAxes& columns) {
  StridedAxes all;
  for (const StridedAxes* axes : {&batch, &rows, &columns}) all.Append(*axes);
  return all;
}

// Matrices have one stride of rows, one of matrices, and adjacent columns.
bool AreMatrices(const StridedAxes& batch, const StridedAxes& rows, const StridedAxes& columns) {
  if (batch.count > 1 || rows.count > 1 || columns.count > 1) return false;
  if (columns.count == 1 && columns.strides[0] != 1) return false;
  return rows.count == 0 || rows.strides[0] >= columns.ElementCount();
}

}  // namespace

void StridedAxes::Append(int64_t size, int64_t stride) {
  if (size == 1) return;
  if (count > 0 && strides[count - 1] == size * stride) {
    sizes[count - 1] *= size;
    strides[count - 1] = stride;
    return;
  }
  sizes[count] = size;
  strides[count] = stride;
  ++count;
}

void StridedAxes::Append(const StridedAxes& axes) {
  for (int axis = 0; axis < axes.count; ++axis) Append(axes.sizes[axis], axes.strides[axis]);
}

int64_t StridedAxes::ElementCount() const {
  int64_t elements = 1;
  for (int axis = 0; axis < count; ++axis) elements *= sizes[axis];
  return elements;
}

MatrixView::MatrixView(Context* context, const StridedAxes& batch, const StridedAxes& rows,
                       const StridedAxes& columns)
    : context_(context),
      axes_(Joined(batch, rows, columns)),
      is_direct_(AreMatrices(batch, rows, columns)),
      row_stride_(is_direct_ && rows.count == 1 ? rows.strides[0] : columns.ElementCount()),
      batch_stride_(is_direct_ && batch.count == 1 ? batch.strides[0]
                                                   : rows.ElementCount() * columns.ElementCount()),
      copy_(context, is_direct_ ? 0 : axes_.ElementCount()) {}

const float* MatrixView::Read(const float* tensor) const {
  if (is_direct_) return tensor;
  const StridedAxes axes = axes_;
  float* const copy = copy_.data();
  ForEach(context_, axes.ElementCount(),
          [=] __device__(int64_t i) { copy[i] = tensor[OffsetOf(axes, i)]; });
  return copy;
}

void MatrixView::Store(float* tensor) const {
  if (is_direct_) return;
  const StridedAxes axes = axes_;
  const float* const copy = copy_.data();
  ForEach(context_, axes.ElementCount(),
          [=] __device__(int64_t i) { tensor[OffsetOf(axes, i)] = copy[i]; });
}

void AddBroadcast(Context* context, const StridedAxes& axes, const float* bias, float* values) {
  ForEach(context, axes.ElementCount(),
          [=] __device__(int64_t i) { values[i] += bias[OffsetOf(axes, i)]; });
}

void SumAxes(Context* context, const StridedAxes& kept, const StridedAxes& summed,
             const float* values, float* sums) {
  const int64_t terms = summed.ElementCount();
  ForEachRow(context, kept.ElementCount(), terms, [=] __device__(int64_t i, const RowBlock& block) {
    const float* const from = values + OffsetOf(kept, i);
    double sum = 0;
    for (int64_t k = block.first(); k < terms; k += block.step()) {
      sum += from[OffsetOf(summed, k)];
    }
    sum = block.Sum(sum);
    if (block.first() == 0) sums[i] = static_cast<float>(sum);
  });
}

}  // namespace cairn::nn::cuda
