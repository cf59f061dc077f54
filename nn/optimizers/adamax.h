#ifndef CAIRN_NN_OPTIMIZERS_ADAMAX_H_
#define CAIRN_NN_OPTIMIZERS_ADAMAX_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Adamax (Kingma & Ba 2015, section 7), as in keras/src/optimizers/adamax.py (Keras 3). t starts at
// 1:
//   momentum += (1 - beta_1) * (gradient - momentum)
//   norm = max(beta_2 * norm, |gradient|)
//   value -= rate * momentum / ((1 - beta_1^t) * (norm + epsilon))
// CreateRule has validated `config`.
std::unique_ptr<OptimizerRule> CreateAdamax(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAMAX_H_
