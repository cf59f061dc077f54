#ifndef CAIRN_COORDINATOR_CALLBACKS_IMPROVEMENT_H_
#define CAIRN_COORDINATOR_CALLBACKS_IMPROVEMENT_H_

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_format.h"

namespace cairn::coordinator {

// Compares two values of a monitored quantity: the smaller or the larger one is better, by more
// than min_delta. NaN is never better, and nothing is worse than worst(). A value type.
class Improvement {
 public:
  Improvement(bool larger_is_better, double min_delta)
      : larger_is_better_(larger_is_better), min_delta_(std::abs(min_delta)) {}

  // Rounds like Keras: the delta is applied to the value, not to the reference.
  bool operator()(double value, double reference) const {
    return larger_is_better_ ? value - min_delta_ > reference : value + min_delta_ < reference;
  }
  double worst() const {
    const double infinite = std::numeric_limits<double>::infinity();
    return larger_is_better_ ? -infinite : infinite;
  }
  bool larger_is_better() const { return larger_is_better_; }

 private:
  bool larger_is_better_;
  double min_delta_;
};

// For notes.
inline std::string ValueText(double value) { return absl::StrFormat("%.6g", value); }

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_IMPROVEMENT_H_
