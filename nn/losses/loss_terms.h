#ifndef CAIRN_NN_LOSSES_LOSS_TERMS_H_
#define CAIRN_NN_LOSSES_LOSS_TERMS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "nn/loss.h"

namespace cairn::nn {

// `shape` without its last axis if that has length 1. Keras adds and removes such an axis as
// needed.
Shape WithoutLastOne(Shape shape);

// The error for labels whose shape does not match the output of one example; `wanted` is the
// expected shape.
absl::Status LabelShapeError(const std::string& loss, const Shape& output, const Shape& labels,
                             const Shape& wanted);

// The factor of a term's derivative, when an example's loss is the mean of `terms_per_example`
// terms: gradient_scale / (divisor * terms_per_example).
float GradientFactor(const Loss::Batch& batch, int64_t terms_per_example);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_LOSS_TERMS_H_
