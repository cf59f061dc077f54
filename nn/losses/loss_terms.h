#ifndef CAIRN_NN_LOSSES_LOSS_TERMS_H_
#define CAIRN_NN_LOSSES_LOSS_TERMS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "nn/loss.h"

namespace cairn::nn {

// `shape` without its last axis if that is 1: Keras adds and removes such a one as needed.
Shape WithoutLastOne(Shape shape);

// Labels do not fit the output of one example; `wanted` would.
absl::Status LabelShapeError(const std::string& loss, const Shape& output, const Shape& labels,
                             const Shape& wanted);

// What the derivative of one of the terms that an example's loss is the mean of is multiplied with.
float GradientFactor(const Loss::Batch& batch, int64_t terms_per_example);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_LOSS_TERMS_H_
