#ifndef CAIRN_NN_OPTIMIZERS_NADAM_H_
#define CAIRN_NN_OPTIMIZERS_NADAM_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Nadam (Dozat 2016), as in keras/src/optimizers/nadam.py (Keras 3). t starts at 1:
//   u_t = beta_1 * (1 - 0.96^t / 2)
//   momentum and velocity as in Adam
//   corrected_momentum = u_{t+1} * momentum / (1 - u_1 ... u_{t+1})
//                        + (1 - u_t) * gradient / (1 - u_1 ... u_t)
//   value -= rate * corrected_momentum / (sqrt(velocity / (1 - beta_2^t)) + epsilon)
// CreateRule has validated `config`.
std::unique_ptr<OptimizerRule> CreateNadam(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_NADAM_H_
