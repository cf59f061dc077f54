#include "nn/metrics/iou.h"

#include <algorithm>

namespace cairn::nn {
namespace {

void Count(int64_t classes, int64_t label, int64_t predicted, absl::Span<double> state) {
  if (label < 0 || label >= classes) return;
  if (label == predicted) ++state[label];
  ++state[classes + label];
  ++state[2 * classes + predicted];
}

class IouAccumulator final : public MetricAccumulator {
 public:
  IouAccumulator(bool sparse, int64_t classes) : sparse_(sparse), classes_(classes) {}

  int state_size() const override { return static_cast<int>(3 * classes_); }
  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kIou, .sparse = sparse_, .classes = classes_};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t rows = batch.examples * (ElementCount(*batch.shape) / classes_);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t label = sparse_
                                ? static_cast<const int32_t*>(batch.labels)[row]
                                : Largest(static_cast<const float*>(batch.labels) + row * classes_);
      Count(classes_, label, Largest(batch.output + row * classes_), state);
    }
  }

 private:
  int64_t Largest(const float* values) const {
    return std::max_element(values, values + classes_) - values;
  }

  const bool sparse_;
  const int64_t classes_;
};

class BinaryIouAccumulator final : public MetricAccumulator {
 public:
  explicit BinaryIouAccumulator(float threshold) : threshold_(threshold) {}

  int state_size() const override { return 6; }
  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kBinaryIou, .threshold = threshold_, .classes = 2};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t count = batch.examples * ElementCount(*batch.shape);
    const float* labels = static_cast<const float*>(batch.labels);
    for (int64_t i = 0; i < count; ++i) {
      // Keras converts the labels to integers, which cuts off fractions.
      const int64_t label = labels[i] > -1 && labels[i] < 2 ? static_cast<int64_t>(labels[i]) : -1;
      Count(2, label, batch.output[i] >= threshold_ ? 1 : 0, state);
    }
  }

 private:
  const float threshold_;
};

}  // namespace

std::unique_ptr<MetricAccumulator> CreateIou(bool sparse, int64_t classes) {
  return std::make_unique<IouAccumulator>(sparse, classes);
}

std::unique_ptr<MetricAccumulator> CreateBinaryIou(float threshold) {
  return std::make_unique<BinaryIouAccumulator>(threshold);
}

double IouResult(absl::Span<const int64_t> targets, absl::Span<const double> state) {
  const auto classes = static_cast<int64_t>(state.size() / 3);
  double sum = 0, valid = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const double either = state[classes + c] + state[2 * classes + c] - state[c];
    if (either == 0) continue;
    const auto asked = targets.empty() ? 1 : std::count(targets.begin(), targets.end(), c);
    sum += static_cast<double>(asked) * state[c] / either;
    valid += static_cast<double>(asked);
  }
  return valid == 0 ? 0 : sum / valid;
}

}  // namespace cairn::nn
