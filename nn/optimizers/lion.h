#ifndef CAIRN_NN_OPTIMIZERS_LION_H_
#define CAIRN_NN_OPTIMIZERS_LION_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Chen et al. 2023 as keras/src/optimizers/lion.py (Keras 3) has it:
//   value -= rate * sign(beta_1 * momentum + (1 - beta_1) * gradient)
//   momentum = beta_2 * momentum + (1 - beta_2) * gradient
// `config` has been checked by CreateRule.
std::unique_ptr<OptimizerRule> CreateLion(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_LION_H_
