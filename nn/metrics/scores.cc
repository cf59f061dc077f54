#include "nn/metrics/scores.h"

#include <algorithm>
#include <cmath>

namespace cairn::nn {
namespace {

// Keras adds it to divisors.
constexpr double kEpsilon = 1e-7;

class FBetaAccumulator final : public MetricAccumulator {
 public:
  FBetaAccumulator(const FBetaOptions& options, int64_t classes)
      : options_(options), classes_(classes) {}

  int state_size() const override { return static_cast<int>(3 * classes_); }
  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kFBeta,
            .threshold = options_.threshold.value_or(0),
            .has_threshold = options_.threshold.has_value(),
            .classes = classes_};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const float* output = batch.output;
    const float* labels = static_cast<const float*>(batch.labels);
    for (int64_t row = 0; row < batch.examples; ++row) {
      const float largest = *std::max_element(output, output + classes_);
      for (int64_t c = 0; c < classes_; ++c) {
        const bool positive = options_.threshold.has_value()
                                  ? output[c] > *options_.threshold
                                  : output[c] >= largest && std::fabs(output[c]) > 1e-9f;
        const double label = labels[c];
        state[c] += positive ? label : 0;
        state[classes_ + c] += positive ? 1 - label : 0;
        state[2 * classes_ + c] += positive ? 0 : label;
      }
      output += classes_;
      labels += classes_;
    }
  }

 private:
  const FBetaOptions options_;
  const int64_t classes_;
};

double FBeta(double beta, double true_positives, double false_positives, double false_negatives) {
  const double precision = true_positives / (true_positives + false_positives + kEpsilon);
  const double recall = true_positives / (true_positives + false_negatives + kEpsilon);
  const double square = beta * beta;
  return (1 + square) * precision * recall / (square * precision + recall + kEpsilon);
}

class R2Accumulator final : public MetricAccumulator {
 public:
  explicit R2Accumulator(int64_t classes) : classes_(classes) {}

  int state_size() const override { return static_cast<int>(1 + 3 * classes_); }
  MetricSpec spec() const override { return {.kind = MetricSpec::Kind::kR2, .classes = classes_}; }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const float* labels = static_cast<const float*>(batch.labels);
    state[0] += static_cast<double>(batch.examples);
    for (int64_t i = 0; i < batch.examples * classes_; ++i) {
      const double label = labels[i];
      const double error = label - batch.output[i];
      double* const sums = state.data() + 1 + i % classes_;
      sums[0] += label;
      sums[classes_] += label * label;
      sums[2 * classes_] += error * error;
    }
  }

 private:
  const int64_t classes_;
};

}  // namespace

std::unique_ptr<MetricAccumulator> CreateFBeta(const FBetaOptions& options, int64_t classes) {
  return std::make_unique<FBetaAccumulator>(options, classes);
}

double FBetaResult(const FBetaOptions& options, absl::Span<const double> state) {
  const size_t classes = state.size() / 3;
  double totals[3] = {}, sum = 0, weighted_sum = 0;
  for (size_t c = 0; c < classes; ++c) {
    const double counts[3] = {state[c], state[classes + c], state[2 * classes + c]};
    const double score = FBeta(options.beta, counts[0], counts[1], counts[2]);
    if (static_cast<int64_t>(c) == options.class_id) return score;
    sum += score;
    weighted_sum += score * (counts[0] + counts[2]);
    for (int i = 0; i < 3; ++i) totals[i] += counts[i];
  }
  switch (options.average) {
    case FBetaOptions::Average::kMicro:
      return FBeta(options.beta, totals[0], totals[1], totals[2]);
    case FBetaOptions::Average::kMacro:
      return classes == 0 ? 0 : sum / static_cast<double>(classes);
    case FBetaOptions::Average::kWeighted:
      return weighted_sum / (totals[0] + totals[2] + kEpsilon);
  }
  return 0;
}

std::unique_ptr<MetricAccumulator> CreateR2(int64_t classes) {
  return std::make_unique<R2Accumulator>(classes);
}

double R2Result(const R2Options& options, absl::Span<const double> state) {
  const size_t classes = state.size() / 3;
  const double examples = state[0];
  if (examples == 0) return 0;
  double score_sum = 0, weighted_sum = 0, variance_sum = 0, score_of_class = 0;
  for (size_t c = 0; c < classes; ++c) {
    const double sum = state[1 + c];
    const double variance = state[1 + classes + c] - sum * sum / examples;
    const double residual = state[1 + 2 * classes + c];
    const double score = variance == 0 && residual != 0 ? 0 : 1 - residual / variance;
    if (static_cast<int64_t>(c) == options.class_id) score_of_class = score;
    score_sum += score;
    weighted_sum += variance * score;
    variance_sum += variance;
  }
  const double score = options.class_id >= 0 ? score_of_class
                       : options.weighted    ? weighted_sum / variance_sum
                                             : score_sum / static_cast<double>(classes);
  // Keras counts the labels of all classes.
  const double samples = examples * static_cast<double>(classes);
  const auto regressors = static_cast<double>(options.regressors);
  if (options.regressors == 0 || regressors >= samples - 1) return score;
  return 1 - (1 - score) * (samples - 1) / (samples - regressors - 1);
}

}  // namespace cairn::nn
