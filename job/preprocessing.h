#ifndef CAIRN_JOB_PREPROCESSING_H_
#define CAIRN_JOB_PREPROCESSING_H_

#include <vector>

#include "absl/types/span.h"
#include "nn/signature.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The least deviation that values are divided by, as in Keras's Normalization.
inline constexpr double kDeviationMin = 1e-7;

// The preprocessing of one model input: scaling and standardization of the stored values. Training,
// validation and prediction all use it. Immutable and thread-safe.
class Preprocessing {
 public:
  // No preprocessing.
  Preprocessing() = default;
  // The preprocessing of input number `input` of the model, for files that `source` describes (the
  // job's train source or its ValidationSource), with the statistics of the job's plan if the
  // source has `standardize`: otherwise they are those of steps. Integer inputs are not
  // preprocessed.
  Preprocessing(const proto::DataSource& source, const proto::DataPlan& plan,
                const nn::Signature& model, int input);

  double scale() const { return scale_; }
  // Multiplies by scale, rounds to float, then applies Standardize.
  void Apply(absl::Span<float> values) const;
  // (value - mean) / max(deviation, kDeviationMin), per position along the last axis, as in Keras's
  // Normalization. `values` are whole examples, already scaled.
  void Standardize(absl::Span<float> values) const;

 private:
  double scale_ = 1;
  std::vector<double> mean_;
  std::vector<double> inverse_;
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_PREPROCESSING_H_
