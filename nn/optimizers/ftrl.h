#ifndef CAIRN_NN_OPTIMIZERS_FTRL_H_
#define CAIRN_NN_OPTIMIZERS_FTRL_H_

#include <memory>

#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// FTRL-Proximal (McMahan et al. 2013, algorithm 1), as in keras/src/optimizers/ftrl.py (Keras 3).
// With p = -learning_rate_power and l2 = l2_regularization_strength + beta / (2 * rate):
//   sum = accumulator + gradient^2
//   linear += gradient + 2 * l2_shrinkage_regularization_strength * value
//             - (sum^p - accumulator^p) / rate * value
//   value = (clip(linear, -l1, l1) - linear) / (sum^p / rate + 2 * l2)
//   accumulator = sum
// A rate of 0 would divide by zero; it leaves values and slots unchanged. CreateRule has validated
// `config`.
std::unique_ptr<OptimizerRule> CreateFtrl(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_FTRL_H_
