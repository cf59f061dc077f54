#include "nn/moving_average.h"

#include "common/simd.h"

namespace cairn::nn {

CAIRN_SIMD void ApplyMovingAverage(int64_t count, const float* batch_values, double momentum,
                                   const float* values_in, float* values_out) {
  const float weight = static_cast<float>(1 - momentum);
  // The output may be the input; without the pragma the compiler's overlap check would then choose
  // its scalar loop.
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    values_out[i] = values_in[i] + weight * (batch_values[i] - values_in[i]);
  }
}

}  // namespace cairn::nn
