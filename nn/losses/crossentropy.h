#ifndef CAIRN_NN_LOSSES_CROSSENTROPY_H_
#define CAIRN_NN_LOSSES_CROSSENTROPY_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// keras/src/losses/losses.py (Keras 3). With targets y, of which label_smoothing s makes
// y (1 - s) + s / classes (binary: y (1 - s) + s / 2), and probabilities p, which are the outputs,
// or with from_logits their softmax or sigmoid:
//   categorical: - sum over the last axis of y log(p / sum of p)   (sparse: y is 1 for the label)
//   binary:      - mean of y log p + (1 - y) log (1 - p)
// `config` has been checked by CreateLoss.
std::unique_ptr<Loss> CreateSparseCategoricalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateCategoricalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateBinaryCrossentropy(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_CROSSENTROPY_H_
