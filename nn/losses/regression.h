#ifndef CAIRN_NN_LOSSES_REGRESSION_H_
#define CAIRN_NN_LOSSES_REGRESSION_H_

#include <memory>

#include "nn/loss.h"

namespace cairn::nn {

// Regression losses as in Keras 3 (keras/src/losses/losses.py): the mean over all outputs p with
// labels y of these terms, where e = 1e-7:
//
//   mean_squared_error              (p - y)^2
//   mean_absolute_error             |p - y|
//   mean_absolute_percentage_error  100 |y - p| / max(|y|, e)
//   mean_squared_logarithmic_error  (log(max(p, e) + 1) - log(max(y, e) + 1))^2
//   huber, with d = p - y           d^2 / 2 if |d| <= delta, else delta (|d| - delta / 2)
//   log_cosh                        log cosh(p - y)
//   poisson                         p - y log(p + e)
//
// CreateLoss has validated `config`.
std::unique_ptr<Loss> CreateMeanSquaredError(const proto::Loss& config);
std::unique_ptr<Loss> CreateMeanAbsoluteError(const proto::Loss& config);
std::unique_ptr<Loss> CreateMeanAbsolutePercentageError(const proto::Loss& config);
std::unique_ptr<Loss> CreateMeanSquaredLogarithmicError(const proto::Loss& config);
std::unique_ptr<Loss> CreateHuber(const proto::Loss& config);
std::unique_ptr<Loss> CreateLogCosh(const proto::Loss& config);
std::unique_ptr<Loss> CreatePoisson(const proto::Loss& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_REGRESSION_H_
