#ifndef CAIRN_NN_OPTIMIZERS_LAMB_H_
#define CAIRN_NN_OPTIMIZERS_LAMB_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// LAMB (You et al. 2019), as in keras/src/optimizers/lamb.py (Keras 3):
//   momentum += (1 - beta_1) * (gradient - momentum)
//   velocity += (1 - beta_2) * (gradient^2 - velocity)
//   update = momentum / (1 - beta_1^t) / (sqrt(velocity / (1 - beta_2^t)) + epsilon)
//   value -= rate * |values| / |update| * update
// The norms are over the whole variable. A norm of zero makes the ratio 1. CreateRule has validated
// `config`.
std::unique_ptr<OptimizerRule> CreateLamb(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_LAMB_H_
