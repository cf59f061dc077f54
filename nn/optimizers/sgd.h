#ifndef CAIRN_NN_OPTIMIZERS_SGD_H_
#define CAIRN_NN_OPTIMIZERS_SGD_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Stochastic gradient descent, as in keras/src/optimizers/sgd.py (Keras 3). Without momentum there
// are no slots, and value -= rate * gradient. With momentum m (Polyak 1964):
//   momentum = m * momentum - rate * gradient
//   value += momentum
// With `nesterov` (Nesterov 1983; Sutskever et al. 2013) the last line is value += m * momentum -
// rate * gradient. CreateRule has validated `config`.
std::unique_ptr<OptimizerRule> CreateSgd(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_SGD_H_
