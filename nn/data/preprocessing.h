#ifndef CAIRN_NN_DATA_PREPROCESSING_H_
#define CAIRN_NN_DATA_PREPROCESSING_H_

#include <vector>

#include "absl/types/span.h"
#include "nn/model.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// What a job does to the stored numbers of one of its inputs before the model sees them: training,
// validation and prediction do just this. Immutable, thread-safe.
class Preprocessing {
 public:
  // None.
  Preprocessing() = default;
  // Of input `input` of the model, from files that `source` describes (the job's train or
  // ValidationSource) by what the job's plan says. Inputs of whole numbers have none.
  Preprocessing(const proto::DataSource& source, const proto::DataPlan& plan, const Model& model,
                int input);

  double scale() const { return scale_; }
  // Multiplied by scale, rounded, then as Standardize.
  void Apply(absl::Span<float> values) const;
  // (value - mean) / max(deviation, 1e-7), each place of the last axis by its own, as Keras's
  // Normalization. `values` are whole examples, already multiplied.
  void Standardize(absl::Span<float> values) const;

 private:
  double scale_ = 1;
  std::vector<double> mean_;
  std::vector<double> inverse_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_DATA_PREPROCESSING_H_
