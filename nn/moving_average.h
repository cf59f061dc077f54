#ifndef CAIRN_NN_MOVING_AVERAGE_H_
#define CAIRN_NN_MOVING_AVERAGE_H_

#include <cstdint>

namespace cairn::nn {

// Updates moving statistics: values_out[i] = values_in[i] + (1 - momentum) * (batch_values[i] -
// values_in[i]). values_out may equal values_in; other overlaps are not allowed.
void ApplyMovingAverage(int64_t count, const float* batch_values, double momentum,
                        const float* values_in, float* values_out);

// With k calls in a step, Keras's updates s = m s + (1 - m) x_i in their order are one update with
// the momentum m^k of the sum of w_i x_i, where w_i = m^(k-1-i) (1 - m) / (1 - m^k), or 1 / k if m
// is 1. Returns w_i of call i, from 0 on.
double WeightOfCall(double momentum, int64_t calls, int64_t call);

}  // namespace cairn::nn

#endif  // CAIRN_NN_MOVING_AVERAGE_H_
