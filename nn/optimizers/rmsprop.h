#ifndef CAIRN_NN_OPTIMIZERS_RMSPROP_H_
#define CAIRN_NN_OPTIMIZERS_RMSPROP_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// RMSprop (Tieleman & Hinton 2012), as in keras/src/optimizers/rmsprop.py (Keras 3):
//   velocity = rho * velocity + (1 - rho) * gradient^2
//   increment = rate * gradient / sqrt(velocity + epsilon)
//   value -= increment
// With `centered`, velocity - average_gradient^2 replaces velocity in the second line, where
//   average_gradient = rho * average_gradient + (1 - rho) * gradient
// With momentum m > 0, momentum = m * momentum + increment replaces the increment in the last line.
// CreateRule has validated `config`.
std::unique_ptr<OptimizerRule> CreateRmsprop(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_RMSPROP_H_
