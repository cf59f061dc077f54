#ifndef CAIRN_JOB_MOMENTS_H_
#define CAIRN_JOB_MOMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "proto/job.pb.h"

namespace cairn::job {

// Computes the mean and standard deviation per position along the last axis, over all added values,
// in double and in one pass (Welford's method; Knuth, The Art of Computer Programming, vol. 2,
// 4.2.2). Not thread-safe.
class Moments {
 public:
  // `places` is the length of the last axis; positive.
  explicit Moments(int64_t places) : mean_(places), squares_(places) {}

  // Adds values; their number must be a multiple of `places`. NaN and infinite values are skipped.
  void Add(absl::Span<const float> values);

  // The mean and population standard deviation, as in Keras's Normalization. A position without
  // values has mean 0 and deviation 1.
  proto::DataPlan::Standardization Result() const;

 private:
  std::vector<double> mean_;
  std::vector<double> squares_;  // Sums of squared deviations from the mean.
  std::vector<double> counts_ = std::vector<double>(mean_.size());
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_MOMENTS_H_
