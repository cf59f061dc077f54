#ifndef CAIRN_NN_OPTIMIZERS_ADAM_H_
#define CAIRN_NN_OPTIMIZERS_ADAM_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Kingma and Ba 2014 in the form of its section 2 as keras/src/optimizers/adam.py (Keras 3) has it:
// epsilon is added to the root of the uncorrected second moment. t counts from 1:
//   momentum += (1 - beta_1) * (gradient - momentum)
//   velocity += (1 - beta_2) * (gradient^2 - velocity)
//   value -= rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * momentum / (sqrt(velocity) + epsilon)
// With amsgrad (Reddi, Kale and Kumar 2018) velocity_hat = max(velocity_hat, velocity) stands in
// the last line. AdamW is the same with weight decay.
// `config` has been checked by CreateRule.
std::unique_ptr<OptimizerRule> CreateAdam(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAM_H_
