#ifndef CAIRN_NN_EXAMPLE_WEIGHTS_CLASS_WEIGHTS_H_
#define CAIRN_NN_EXAMPLE_WEIGHTS_CLASS_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/loss.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Keras's class_weight: how much an example counts in the training loss, by its class. Immutable,
// thread-safe.
class ClassWeights {
 public:
  // For a model with this loss, one example of whose output has `output_shape`. InvalidArgument:
  // not exactly one weight for each class from 0 on, a weight that is negative or not finite, or an
  // output of several positions. (How many classes there are is known where labels are class
  // numbers or one-hot.)
  static absl::StatusOr<ClassWeights> Create(const std::map<int64_t, double>& weights,
                                             const Loss& loss, const Shape& output_shape);

  // Writes the weight of each example to `weights`. `labels` as the loss takes them: the class is
  // the label, or, where an example has several, the place of its largest. InvalidArgument: a label
  // that has no weight.
  absl::Status Fill(int64_t examples, const void* labels, float* weights) const;

 private:
  ClassWeights(std::vector<float> weights, proto::DataType label_type, int64_t label_count)
      : weights_(std::move(weights)), label_type_(label_type), label_count_(label_count) {}

  int64_t ClassOf(const void* labels, int64_t example) const;

  std::vector<float> weights_;  // By class.
  proto::DataType label_type_;
  int64_t label_count_;  // Of one example.
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_EXAMPLE_WEIGHTS_CLASS_WEIGHTS_H_
