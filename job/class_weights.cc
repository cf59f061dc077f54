#include "job/class_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::job {

absl::StatusOr<ClassWeights> ClassWeights::Create(const std::map<int64_t, double>& weights,
                                                  const nn::Loss& loss,
                                                  const nn::Shape& output_shape) {
  if (output_shape.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("an example must have one class, and the model's output for one is of shape ",
                     nn::ShapeText(output_shape)));
  }
  std::vector<float> by_class;
  for (const auto& [number, weight] : weights) {
    const auto next = static_cast<int64_t>(by_class.size());
    if (number != next) {
      return absl::InvalidArgumentError(absl::StrCat(
          "class ", std::min(number, next), number < 0 ? " does not exist" : " has no weight",
          "; give one for each class, from 0 on"));
    }
    if (!std::isfinite(weight) || weight < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the weight of class ", number, ", ", weight,
                                                     ", is not a number of 0 or more"));
    }
    by_class.push_back(static_cast<float>(weight));
  }
  const int64_t outputs = output_shape[0];
  const auto count = static_cast<int64_t>(by_class.size());
  if (outputs > 1 && count != outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("has weights for ", count, " classes, the model ", "knows ", outputs));
  }
  return ClassWeights(std::move(by_class), loss.label_type(), loss.LabelCount(output_shape));
}

int64_t ClassWeights::ClassOf(const void* labels, int64_t example) const {
  if (label_type_ == proto::INT32) return static_cast<const int32_t*>(labels)[example];
  const float* const row = static_cast<const float*>(labels) + example * label_count_;
  if (label_count_ > 1) return std::max_element(row, row + label_count_) - row;
  // Converting NaN or a number out of int64's range would be undefined.
  return std::isfinite(*row) && std::abs(*row) < 1e9f ? static_cast<int64_t>(*row) : -1;
}

absl::Status ClassWeights::Fill(int64_t examples, const void* labels, float* weights) const {
  for (int64_t i = 0; i < examples; ++i) {
    const int64_t number = ClassOf(labels, i);
    if (number < 0 || number >= static_cast<int64_t>(weights_.size())) {
      return absl::InvalidArgumentError(absl::StrCat("class_weight: a label is of class ", number,
                                                     ", and there are weights for classes 0 to ",
                                                     weights_.size() - 1));
    }
    weights[i] = weights_[number];
  }
  return absl::OkStatus();
}

}  // namespace cairn::job
