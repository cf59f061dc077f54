#ifndef CAIRN_NN_OPTIMIZERS_ADADELTA_H_
#define CAIRN_NN_OPTIMIZERS_ADADELTA_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Adadelta (Zeiler 2012), as in keras/src/optimizers/adadelta.py (Keras 3):
//   accumulated_grad = rho * accumulated_grad + (1 - rho) * gradient^2
//   delta = sqrt(accumulated_delta_var + epsilon) / sqrt(accumulated_grad + epsilon) * gradient
//   accumulated_delta_var = rho * accumulated_delta_var + (1 - rho) * delta^2
//   value -= rate * delta
// CreateRule has validated `config`.
std::unique_ptr<OptimizerRule> CreateAdadelta(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADADELTA_H_
