#ifndef CAIRN_NN_OPTIMIZERS_SGD_H_
#define CAIRN_NN_OPTIMIZERS_SGD_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Stochastic gradient descent as keras/src/optimizers/sgd.py (Keras 3) has it. Without momentum:
// value -= rate * gradient, and no slots. With it:
//   momentum = m * momentum - rate * gradient
//   value += momentum                              (Nesterov: m * momentum - rate * gradient)
// `config` has been checked by CreateRule.
std::unique_ptr<OptimizerRule> CreateSgd(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_SGD_H_
