#include "nn/losses/loss_terms.h"

#include "absl/strings/str_cat.h"

namespace cairn::nn {

Shape WithoutLastOne(Shape shape) {
  if (!shape.empty() && shape.back() == 1) shape.pop_back();
  return shape;
}

absl::Status LabelShapeError(const std::string& loss, const Shape& output, const Shape& labels,
                             const Shape& wanted) {
  const bool are_numbers = labels.empty() && !WithoutLastOne(wanted).empty();
  return absl::InvalidArgumentError(absl::StrCat(
      "loss ", loss, ": labels of shape ", ShapeText(labels),
      " per example do not fit the model's output ", ShapeText(output), ", which wants ",
      wanted.empty() ? "one number" : absl::StrCat("labels of shape ", ShapeText(wanted)),
      are_numbers ? "; class numbers become vectors by \"one_hot\": true" : ""));
}

float GradientFactor(const Loss::Batch& batch, int64_t terms_per_example) {
  const int64_t divisor = batch.gradient_divisor == 0 ? batch.examples : batch.gradient_divisor;
  return batch.gradient_scale / static_cast<float>(divisor * terms_per_example);
}

}  // namespace cairn::nn
