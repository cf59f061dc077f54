#ifndef CAIRN_NN_OPTIMIZERS_RMSPROP_H_
#define CAIRN_NN_OPTIMIZERS_RMSPROP_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Tieleman and Hinton 2012 as keras/src/optimizers/rmsprop.py (Keras 3) has it:
//   velocity = rho * velocity + (1 - rho) * gradient^2
//   centered: average_gradient = rho * average_gradient + (1 - rho) * gradient
//   increment = rate * gradient / sqrt(velocity + epsilon)   (centered: velocity -
//   average_gradient^2) with momentum: momentum = m * momentum + increment, and that is the
//   increment value -= increment
// `config` has been checked by CreateRule.
std::unique_ptr<OptimizerRule> CreateRmsprop(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_RMSPROP_H_
