#ifndef CAIRN_NN_METRICS_SCORES_H_
#define CAIRN_NN_METRICS_SCORES_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "nn/metrics/accumulator.h"

namespace cairn::nn {

// Scores of each output of the last axis ("class"), which is the only one.

// F-beta, the weighted harmonic mean of precision and recall (keras/src/metrics/f_score_metrics.py,
// Keras 3). An output is positive if it exceeds the threshold or, without one, if it is the largest
// of its example and not 0. The state has, per class, true positives, false positives and false
// negatives.
struct FBetaOptions {
  // The score of all classes' counts together; the mean of the classes' scores; that mean, weighted
  // by the number of the class's labels.
  enum class Average { kMicro, kMacro, kWeighted };

  Average average = Average::kMacro;
  int64_t class_id = -1;  // If not negative, the score of this class alone.
  double beta = 1;
  std::optional<float> threshold;
};

std::unique_ptr<MetricAccumulator> CreateFBeta(const FBetaOptions& options, int64_t classes);
double FBetaResult(const FBetaOptions& options, absl::Span<const double> state);

// R squared, the coefficient of determination (keras/src/metrics/regression_metrics.py, Keras 3).
// The state is the number of examples, then per class the sums of the labels, of their squares and
// of the squared errors.
struct R2Options {
  // The mean over classes is weighted by the variance of their labels.
  bool weighted = false;
  int64_t class_id = -1;  // If not negative, the score of this class alone.
  // If positive, the result is adjusted to this number of independent variables.
  int64_t regressors = 0;
};

std::unique_ptr<MetricAccumulator> CreateR2(int64_t classes);
double R2Result(const R2Options& options, absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_SCORES_H_
