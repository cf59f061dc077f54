#ifndef CAIRN_NN_OPTIMIZERS_ADAGRAD_H_
#define CAIRN_NN_OPTIMIZERS_ADAGRAD_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Duchi, Hazan and Singer 2011 as keras/src/optimizers/adagrad.py (Keras 3) has it:
//   accumulator += gradient^2
//   value -= rate * gradient / sqrt(accumulator + epsilon)
// `config` has been checked by CreateRule.
std::unique_ptr<OptimizerRule> CreateAdagrad(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAGRAD_H_
