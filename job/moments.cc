#include "job/moments.h"

#include <cmath>
#include <cstddef>

namespace cairn::job {

void Moments::Add(absl::Span<const float> values) {
  const size_t places = mean_.size();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t place = i % places;
    const double value = values[i];
    if (!std::isfinite(value)) continue;
    const double distance = value - mean_[place];
    mean_[place] += distance / ++counts_[place];
    squares_[place] += distance * (value - mean_[place]);
  }
}

proto::DataPlan::Standardization Moments::Result() const {
  proto::DataPlan::Standardization result;
  for (size_t place = 0; place < mean_.size(); ++place) {
    const bool any = counts_[place] > 0;
    result.add_mean(mean_[place]);
    result.add_deviation(any ? std::sqrt(squares_[place] / counts_[place]) : 1);
  }
  return result;
}

}  // namespace cairn::job
