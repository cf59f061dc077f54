#ifndef CAIRN_NN_LOSSES_ELEMENTWISE_LOSS_H_
#define CAIRN_NN_LOSSES_ELEMENTWISE_LOSS_H_

#include <string>
#include <utility>

#include "nn/loss.h"
#include "nn/losses/loss_terms.h"

namespace cairn::nn {

// A loss that is the mean over an example's outputs of a distance between each output and its
// label.
//
// Distance is a value type with
//   // The distance for one batch, which has `elements` labels.
//   Distance For(const Loss::Batch& batch, int64_t elements) const;
//   LossSpec spec() const;
//   // Defined by a distance that takes logits, if the batch has them, in place of outputs.
//   bool TakesLogitsOf(Activation::Kind activation) const;
//   // Returns the distance and sets its derivative with respect to `output` (initially 0).
//   double operator()(float output, float label, float* derivative) const;
template <typename Distance>
class ElementwiseLoss final : public Loss {
 public:
  ElementwiseLoss(std::string name, Distance distance)
      : Loss(std::move(name), proto::FLOAT32), distance_(std::move(distance)) {}

  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    const bool fits = labels == output || WithoutLastOne(labels) == WithoutLastOne(output);
    return fits ? absl::OkStatus() : LabelShapeError(name(), output, labels, output);
  }
  int64_t LabelCount(const Shape& output) const override { return ElementCount(output); }
  LossSpec spec() const override { return distance_.spec(); }
  bool TakesLogitsOf(Activation::Kind activation) const override {
    if constexpr (requires { distance_.TakesLogitsOf(activation); }) {
      return distance_.TakesLogitsOf(activation);
    }
    return false;
  }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const int64_t elements = ElementCount(*batch.shape);
    const float* output = batch.output;
    if (batch.logits != nullptr && TakesLogitsOf(batch.activation())) output = batch.logits;
    const float* labels = static_cast<const float*>(batch.labels);
    const float factor = GradientFactor(batch, elements);
    const Distance distance = distance_.For(batch, batch.examples * elements);
    double sum = 0;
    for (int64_t example = 0; example < batch.examples; ++example) {
      const float weight = batch.weight(example);
      double example_sum = 0;
      for (int64_t i = example * elements; i < (example + 1) * elements; ++i) {
        float derivative = 0;
        example_sum += distance(output[i], labels[i], &derivative);
        if (gradient != nullptr) gradient[i] = factor * weight * derivative;
      }
      sum += weight * example_sum;
    }
    return sum / static_cast<double>(elements);
  }

 private:
  const Distance distance_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_ELEMENTWISE_LOSS_H_
