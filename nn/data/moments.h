#ifndef CAIRN_NN_DATA_MOMENTS_H_
#define CAIRN_NN_DATA_MOMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// Mean and deviation of each place on an axis, over everything that is added. Float64, one pass:
// Welford's method (Knuth, The Art of Computer Programming, vol. 2, 4.2.2). Not thread-safe.
class Moments {
 public:
  // `places` is positive.
  explicit Moments(int64_t places) : mean_(places), squares_(places) {}

  // A whole number of times `places` values, place by place. NaN and infinite ones do not count.
  void Add(absl::Span<const float> values);

  // Population's deviation, as Keras's Normalization. Of a place without values: 0 and 1.
  proto::DataPlan::Standardization Result() const;

 private:
  std::vector<double> mean_;
  std::vector<double> squares_;  // Of the distances from the mean, summed.
  std::vector<double> counts_ = std::vector<double>(mean_.size());
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_DATA_MOMENTS_H_
