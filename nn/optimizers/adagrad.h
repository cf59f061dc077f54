#ifndef CAIRN_NN_OPTIMIZERS_ADAGRAD_H_
#define CAIRN_NN_OPTIMIZERS_ADAGRAD_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Adagrad (Duchi, Hazan & Singer 2011), as in keras/src/optimizers/adagrad.py (Keras 3):
//   accumulator += gradient^2
//   value -= rate * gradient / sqrt(accumulator + epsilon)
// CreateRule has validated `config`.
std::unique_ptr<OptimizerRule> CreateAdagrad(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAGRAD_H_
