#ifndef CAIRN_NN_LOSSES_REGRESSION_H_
#define CAIRN_NN_LOSSES_REGRESSION_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// keras/src/losses/losses.py (Keras 3): means over all outputs p with labels y, where e = 1e-7.
//   mean_squared_error              (p - y)^2
//   mean_absolute_error             |p - y|
//   mean_absolute_percentage_error  100 |y - p| / max(|y|, e)
//   mean_squared_logarithmic_error  (log(max(p, e) + 1) - log(max(y, e) + 1))^2
//   huber                           d = p - y; d^2 / 2 where |d| <= delta, else delta |d| -
//   delta^2/2 log_cosh                        log cosh(p - y) poisson                         p - y
//   log(p + e)
// `config` has been checked by CreateLoss.
std::unique_ptr<Loss> CreateMeanSquaredError(const proto::Loss& config);
std::unique_ptr<Loss> CreateMeanAbsoluteError(const proto::Loss& config);
std::unique_ptr<Loss> CreateMeanAbsolutePercentageError(const proto::Loss& config);
std::unique_ptr<Loss> CreateMeanSquaredLogarithmicError(const proto::Loss& config);
std::unique_ptr<Loss> CreateHuber(const proto::Loss& config);
std::unique_ptr<Loss> CreateLogCosh(const proto::Loss& config);
std::unique_ptr<Loss> CreatePoisson(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_REGRESSION_H_
