#ifndef CAIRN_COORDINATOR_TRAINING_PRECISE_SUM_H_
#define CAIRN_COORDINATOR_TRAINING_PRECISE_SUM_H_

#include <cmath>

namespace cairn::coordinator {

// A sum of doubles with twice their precision (Knuth's TwoSum). Reports of batches arrive in any
// order; the rounded value does not depend on it, except where the exact sum lies within 2^-100 of
// the middle between two doubles. After a term that is not finite the value is not finite either. A
// value type.
struct PreciseSum {
  double high = 0;
  double low = 0;

  void Add(double term) {
    const double sum = high + term;
    if (std::isfinite(sum)) {
      const double part = sum - high;
      low += (high - (sum - part)) + (term - part);
    } else {
      low = 0;
    }
    high = sum;
    // Renormalized, so that `high` is the rounded value of the sum.
    const double rounded = high + low;
    if (!std::isfinite(rounded)) return;
    low -= rounded - high;
    high = rounded;
  }
  double value() const { return high + low; }
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_PRECISE_SUM_H_
