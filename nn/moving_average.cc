#include "nn/moving_average.h"

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

}  // namespace cairn::nn
