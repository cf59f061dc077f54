#ifndef CAIRN_JOB_CLASS_WEIGHTS_H_
#define CAIRN_JOB_CLASS_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/loss.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::job {

// Keras's class_weight: the weight of an example in the training loss, by its class. Immutable and
// thread-safe.
class ClassWeights {
 public:
  // Creates the weights for a model with this loss and output shape (of one example).
  // INVALID_ARGUMENT: `weights` does not have exactly one weight for each class from 0 on, a weight
  // is negative or not finite, or the output has several positions per example. The number of
  // classes is checked only if labels are class labels or one-hot vectors.
  static absl::StatusOr<ClassWeights> Create(const std::map<int64_t, double>& weights,
                                             const nn::Loss& loss, const nn::Shape& output_shape);

  // Writes the weight of each example to `weights`. `labels` have the form that the loss takes. An
  // example's class is its label or, if it has several label values, the position of the largest.
  // INVALID_ARGUMENT: a label has no weight.
  absl::Status Fill(int64_t examples, const void* labels, float* weights) const;

 private:
  ClassWeights(std::vector<float> weights, proto::DataType label_type, int64_t label_count)
      : weights_(std::move(weights)), label_type_(label_type), label_count_(label_count) {}

  int64_t ClassOf(const void* labels, int64_t example) const;

  std::vector<float> weights_;  // By class.
  proto::DataType label_type_;
  int64_t label_count_;  // Per example.
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_CLASS_WEIGHTS_H_
