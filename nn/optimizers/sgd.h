#ifndef CAIRN_NN_OPTIMIZERS_SGD_H_
#define CAIRN_NN_OPTIMIZERS_SGD_H_

#include <memory>

#include "nn/optimizer.h"

namespace cairn::nn {

// Stochastic gradient descent. Without momentum: value -= rate * gradient, and no slots. With it:
//   momentum = m * momentum - rate * gradient
//   value += momentum                              (Nesterov: m * momentum - rate * gradient)
// `config` has been checked by CreateOptimizer.
std::unique_ptr<Optimizer> CreateSgd(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_SGD_H_
