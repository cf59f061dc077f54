#ifndef CAIRN_NN_OPTIMIZERS_ADAGRAD_H_
#define CAIRN_NN_OPTIMIZERS_ADAGRAD_H_

#include <memory>

#include "nn/optimizer.h"

namespace cairn::nn {

// Duchi, Hazan and Singer 2011 as Keras computes it:
//   accumulator += gradient^2
//   value -= rate * gradient / sqrt(accumulator + epsilon)
// `config` has been checked by CreateOptimizer.
std::unique_ptr<Optimizer> CreateAdagrad(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ADAGRAD_H_
