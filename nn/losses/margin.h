#ifndef CAIRN_NN_LOSSES_MARGIN_H_
#define CAIRN_NN_LOSSES_MARGIN_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// Hinge losses as in Keras 3 (keras/src/losses/losses.py), and the critic's loss of Arjovsky et al.
// 2017, of outputs p and labels y:
//
//   hinge              mean of max(1 - y p, 0), where y is 1 or -1
//   squared_hinge      mean of max(1 - y p, 0)^2
//   categorical_hinge  max(max of (1 - y) p - sum of y p + 1, 0), over the last axis
//   wasserstein        mean of y p; with labels 1 the mean of the output
//
// As in Keras, the first two replace label 0 by -1 if all labels of the batch are 0 or 1.
// CreateLoss has validated `config`.
std::unique_ptr<Loss> CreateHinge(const proto::Loss& config);
std::unique_ptr<Loss> CreateSquaredHinge(const proto::Loss& config);
std::unique_ptr<Loss> CreateCategoricalHinge(const proto::Loss& config);
std::unique_ptr<Loss> CreateWasserstein(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_MARGIN_H_
