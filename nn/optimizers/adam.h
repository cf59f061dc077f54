#ifndef CAIRN_NN_OPTIMIZERS_ADAM_H_
#define CAIRN_NN_OPTIMIZERS_ADAM_H_

#include <memory>

#include "nn/optimizer.h"

namespace cairn::nn {

// Kingma and Ba 2014 in the form of its section 2 as Keras computes it (epsilon is added to the
// root of the uncorrected second moment), t counting from 1:
//   momentum += (1 - beta_1) * (gradient - momentum)
//   velocity += (1 - beta_2) * (gradient^2 - velocity)
//   value -= rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * momentum / (sqrt(velocity) + epsilon)
// `config` has been checked by CreateOptimizer.
std::unique_ptr<Optimizer> CreateAdam(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAM_H_
