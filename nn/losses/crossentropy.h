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
// `ignore_class`: labels of this class are left out, and the mean is over the others of the batch.
// The focal losses (Lin et al. 2018) weigh each term of these sums:
//
//   categorical_focal: by alpha (1 - p)^gamma
//   binary_focal:      by (1 - q)^gamma, where q = y p + (1 - y) (1 - p), and with
//                      apply_class_balancing by y alpha + (1 - y) (1 - alpha)
//
// categorical_generalized_cross_entropy (Zhang and Sabuncu 2018) is (1 - p^q) / q, for the p of the
// label's class.
//
// CreateLoss has validated `config`.
std::unique_ptr<Loss> CreateSparseCategoricalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateCategoricalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateBinaryCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateCategoricalFocalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateBinaryFocalCrossentropy(const proto::Loss& config);
std::unique_ptr<Loss> CreateCategoricalGeneralizedCrossEntropy(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_CROSSENTROPY_H_
