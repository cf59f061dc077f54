#ifndef CAIRN_NN_OPTIMIZERS_ADAM_H_
#define CAIRN_NN_OPTIMIZERS_ADAM_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Adam (Kingma & Ba 2015) in the form of the paper's section 2, as in keras/src/optimizers/adam.py
// (Keras 3): epsilon is added to the root of the second moment without bias correction. t starts at
// 1:
//   momentum += (1 - beta_1) * (gradient - momentum)
//   velocity += (1 - beta_2) * (gradient^2 - velocity)
//   value -= rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * momentum / (sqrt(velocity) + epsilon)
// With amsgrad (Reddi, Kale & Kumar 2018) velocity_hat = max(velocity_hat, velocity) replaces
// velocity in the last line. AdamW (Loshchilov & Hutter 2019) is Adam with weight decay. CreateRule
// has validated `config`.
std::unique_ptr<OptimizerRule> CreateAdam(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAM_H_
