#ifndef CAIRN_NN_LOSSES_ROW_LOSS_H_
#define CAIRN_NN_LOSSES_ROW_LOSS_H_

#include <string>
#include <utility>

#include "nn/loss.h"
#include "nn/losses/loss_terms.h"

namespace cairn::nn {

// A loss that is the mean over an example's positions of a distance between the outputs along the
// last axis and the labels there.
//
// Distance is a value type with
//   // As for ElementwiseLoss.
//   Distance For(const Loss::Batch& batch, int64_t elements) const;
//   LossSpec spec() const;
//   // Returns the distance of `count` outputs from as many labels. If `gradient` is not null,
//   // writes factor x the derivatives to it.
//   double operator()(const float* output, const float* label, int64_t count, float factor,
//                     float* gradient) const;
template <typename Distance>
class RowLoss final : public Loss {
 public:
  RowLoss(std::string name, Distance distance)
      : Loss(std::move(name), proto::FLOAT32), distance_(std::move(distance)) {}

  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    return labels == output && !output.empty() ? absl::OkStatus()
                                               : LabelShapeError(name(), output, labels, output);
  }
  int64_t LabelCount(const Shape& output) const override { return ElementCount(output); }
  LossSpec spec() const override { return distance_.spec(); }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const int64_t count = batch.shape->back();
    const int64_t positions = ElementCount(*batch.shape) / count;
    const float factor = GradientFactor(batch, positions);
    const float* labels = static_cast<const float*>(batch.labels);
    const Distance distance = distance_.For(batch, batch.examples * positions * count);
    double sum = 0;
    for (int64_t row = 0; row < batch.examples * positions; ++row) {
      const float weight = batch.weight(row / positions);
      sum += weight * distance(batch.output + row * count, labels + row * count, count,
                               factor * weight,
                               gradient == nullptr ? nullptr : gradient + row * count);
    }
    return sum / static_cast<double>(positions);
  }

 private:
  const Distance distance_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSSES_ROW_LOSS_H_
