#include "nn/metrics/confusion.h"

#include <algorithm>

namespace cairn::nn {
namespace {

class ConfusionAccumulator final : public MetricAccumulator {
 public:
  explicit ConfusionAccumulator(const ConfusionOptions& options) : options_(options) {}

  int state_size() const override { return static_cast<int>(options_.kinds.size()); }
  MetricSpec spec() const override {
    MetricSpec spec{.kind = MetricSpec::Kind::kConfusion,
                    .k = options_.top_k,
                    .threshold = options_.threshold,
                    .class_id = options_.class_id};
    for (const Confusion kind : options_.kinds) {
      spec.kinds[spec.kind_count++] = static_cast<int>(kind);
    }
    return spec;
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t elements = ElementCount(*batch.shape);
    const int64_t classes = batch.shape->empty() ? 1 : batch.shape->back();
    const float* labels = static_cast<const float*>(batch.labels);
    double counts[4] = {};
    for (int64_t row = 0; row < batch.examples * elements / classes; ++row) {
      CountRow(batch.output + row * classes, labels + row * classes, classes, counts);
    }
    for (size_t i = 0; i < options_.kinds.size(); ++i) {
      state[i] += counts[static_cast<int>(options_.kinds[i])];
    }
  }

 private:
  void CountRow(const float* output, const float* labels, int64_t classes, double* counts) const {
    for (int64_t c = 0; c < classes; ++c) {
      if (options_.class_id >= 0 && c != options_.class_id) continue;
      const bool positive = output[c] > options_.threshold && IsCandidate(output, classes, c);
      const Confusion kind =
          labels[c] != 0 ? (positive ? Confusion::kTruePositive : Confusion::kFalseNegative)
                         : (positive ? Confusion::kFalsePositive : Confusion::kTrueNegative);
      ++counts[static_cast<int>(kind)];
    }
  }

  // Among equal outputs the first ones rank higher.
  bool IsCandidate(const float* output, int64_t classes, int64_t c) const {
    if (options_.top_k == 0) return true;
    int64_t before = 0;
    for (int64_t other = 0; other < classes && before < options_.top_k; ++other) {
      before += output[other] > output[c] || (output[other] == output[c] && other < c);
    }
    return before < options_.top_k;
  }

  const ConfusionOptions options_;
};

}  // namespace

std::unique_ptr<MetricAccumulator> CreateConfusion(const ConfusionOptions& options) {
  return std::make_unique<ConfusionAccumulator>(options);
}

double ShareResult(absl::Span<const double> state) {
  const double all = state[0] + state[1];
  return all == 0 ? 0 : state[0] / all;
}

double CountResult(absl::Span<const double> state) { return state[0]; }

}  // namespace cairn::nn
