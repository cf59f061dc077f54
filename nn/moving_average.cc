#include "nn/moving_average.h"

#include <cmath>

#include "common/simd.h"

namespace cairn::nn {

CAIRN_SIMD void ApplyMovingAverage(int64_t count, const float* batch_values, double momentum,
                                   const float* values_in, float* values_out) {
  const float weight = static_cast<float>(1 - momentum);
  // values_out may equal values_in. Without the pragma the compiler's run-time overlap check would
  // select the scalar loop then.
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    values_out[i] = values_in[i] + weight * (batch_values[i] - values_in[i]);
  }
}

double WeightOfCall(double momentum, int64_t calls, int64_t call) {
  if (momentum == 1) return 1 / static_cast<double>(calls);
  const auto power = [momentum](int64_t exponent) {
    return std::pow(momentum, static_cast<double>(exponent));
  };
  return power(calls - 1 - call) * (1 - momentum) / (1 - power(calls));
}

}  // namespace cairn::nn
