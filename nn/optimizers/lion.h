#ifndef CAIRN_NN_OPTIMIZERS_LION_H_
#define CAIRN_NN_OPTIMIZERS_LION_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Lion (Chen et al. 2023), as in keras/src/optimizers/lion.py (Keras 3):
//   value -= rate * sign(beta_1 * momentum + (1 - beta_1) * gradient)
//   momentum = beta_2 * momentum + (1 - beta_2) * gradient
// CreateRule has validated `config`.
std::unique_ptr<OptimizerRule> CreateLion(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_LION_H_
