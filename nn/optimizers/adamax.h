#ifndef CAIRN_NN_OPTIMIZERS_ADAMAX_H_
#define CAIRN_NN_OPTIMIZERS_ADAMAX_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Kingma and Ba 2014, section 7, as keras/src/optimizers/adamax.py (Keras 3) has it, t from 1:
//   momentum += (1 - beta_1) * (gradient - momentum)
//   norm = max(beta_2 * norm, |gradient|)
//   value -= rate * momentum / ((1 - beta_1^t) * (norm + epsilon))
// `config` has been checked by CreateRule.
std::unique_ptr<OptimizerRule> CreateAdamax(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAMAX_H_
