#include "nn/metrics/mean_iou.h"

#include <algorithm>

namespace cairn::nn {
namespace {

class MeanIouAccumulator final : public MetricAccumulator {
 public:
  MeanIouAccumulator(bool sparse, int64_t classes) : sparse_(sparse), classes_(classes) {}

  int state_size() const override { return static_cast<int>(3 * classes_); }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t rows = batch.examples * (ElementCount(*batch.shape) / classes_);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t predicted = Largest(batch.output + row * classes_);
      const int64_t label = sparse_
                                ? static_cast<const int32_t*>(batch.labels)[row]
                                : Largest(static_cast<const float*>(batch.labels) + row * classes_);
      if (label == predicted) ++state[label];
      ++state[classes_ + label];
      ++state[2 * classes_ + predicted];
    }
  }

 private:
  int64_t Largest(const float* values) const {
    return std::max_element(values, values + classes_) - values;
  }

  const bool sparse_;
  const int64_t classes_;
};

}  // namespace

std::unique_ptr<MetricAccumulator> CreateMeanIou(bool sparse, int64_t classes) {
  return std::make_unique<MeanIouAccumulator>(sparse, classes);
}

double MeanIouResult(absl::Span<const double> state) {
  const size_t classes = state.size() / 3;
  double sum = 0, valid = 0;
  for (size_t c = 0; c < classes; ++c) {
    const double either = state[classes + c] + state[2 * classes + c] - state[c];
    if (either == 0) continue;
    sum += state[c] / either;
    ++valid;
  }
  return valid == 0 ? 0 : sum / valid;
}

}  // namespace cairn::nn
