#ifndef CAIRN_NN_LOSSES_CROSSENTROPY_H_
#define CAIRN_NN_LOSSES_CROSSENTROPY_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// Cross-entropy losses as in Keras 3 (keras/src/losses/losses.py). y are the targets;
// label_smoothing s replaces them by y (1 - s) + s / classes (binary: y (1 - s) + s / 2). p are the
// probabilities: the outputs or, with from_logits, their softmax or sigmoid.
//
//   categorical: - sum over the last axis of y log(p / sum of p)   (sparse: y is 1 for the label)
//   binary:      - mean of y log p + (1 - y) log (1 - p)
//
// CreateLoss has validated `config`.
std::unique_ptr<Loss> CreateSparseCategoricalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateCategoricalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateBinaryCrossentropy(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_CROSSENTROPY_H_
