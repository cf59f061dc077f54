#ifndef CAIRN_JOB_MOMENTS_H_
#define CAIRN_JOB_MOMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "job/exact_sum.h"
#include "proto/job.pb.h"

namespace cairn::job {

// Computes the mean and standard deviation per position along the last axis, over all added values.
// The sums are exact, so it does not matter how the values are divided among workers. Not
// thread-safe.
class Moments {
 public:
  // The results are part of the job's plan, which is sent to every task.
  static constexpr int64_t kPlacesMax = 65536;

  // `places` is the length of the last axis, at most kPlacesMax. 0: there are no values.
  explicit Moments(int64_t places) : places_(places) {}

  // Adds values; their number must be a multiple of `places`. NaN and infinite values are skipped.
  void Add(absl::Span<const float> values);
  // The values of an example, added or not.
  void Cover(absl::Span<const float> values);
  // Adds the values of other moments. InvalidArgument: they have other places, or are no sums.
  absl::Status Add(const proto::Moments& other);

  proto::Moments ToProto() const;
  int places() const { return static_cast<int>(places_.size()); }
  // The largest absolute value that was covered.
  double largest() const { return largest_; }

  // The mean and population standard deviation, as in Keras's Normalization. A position without
  // values has mean 0 and deviation 1.
  proto::DataPlan::Standardization Result() const;

 private:
  struct Place {
    int64_t count = 0;
    ExactSum sum;
    ExactSum squares;
  };

  std::vector<Place> places_;
  double largest_ = 0;
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_MOMENTS_H_
