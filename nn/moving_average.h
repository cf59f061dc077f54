#ifndef CAIRN_NN_MOVING_AVERAGE_H_
#define CAIRN_NN_MOVING_AVERAGE_H_

#include <cstdint>

namespace cairn::nn {

// Updates moving statistics: values_out[i] = values_in[i] + (1 - momentum) * (batch_values[i] -
// values_in[i]). values_out may equal values_in; other overlaps are not allowed.
void ApplyMovingAverage(int64_t count, const float* batch_values, double momentum,
                        const float* values_in, float* values_out);

}  // namespace cairn::nn

#endif  // CAIRN_NN_MOVING_AVERAGE_H_
