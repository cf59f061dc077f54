#ifndef CAIRN_NN_METRICS_MEANS_H_
#define CAIRN_NN_METRICS_MEANS_H_

#include <cstdint>
#include <memory>

#include "nn/loss.h"
#include "nn/metrics/accumulator.h"

namespace cairn::nn {

// Metrics that are means (keras/src/metrics/accuracy_metrics.py, Keras 3). The state is a sum and
// the number of terms.

// The fraction of positions whose label is among the `k` classes with the largest outputs along the
// last axis, that is, fewer than k outputs are larger. With k = 1 the label must be the first of
// the largest outputs. With `sparse` the labels are class labels; otherwise the label is the
// position of the largest value.
std::unique_ptr<MetricAccumulator> CreateCategoricalAccuracy(bool sparse, int64_t k);

// The fraction of outputs that exceed the threshold if and only if their label is 1.
std::unique_ptr<MetricAccumulator> CreateBinaryAccuracy(float threshold);

// The correlation of outputs and labels along the last axis, as in
// keras/src/metrics/correlation_metrics.py (Keras 3): Pearson's, or Lin's concordance correlation.
// Pearson's of equal outputs or equal labels is not a number.
std::unique_ptr<MetricAccumulator> CreateCorrelation(bool concordance);

// The mean of `loss` over examples, without weights; its negative if `negative`.
std::unique_ptr<MetricAccumulator> CreateLossMean(std::unique_ptr<Loss> loss, bool negative);

// `accumulator`, whose state is a sum over examples, with each example's part times its weight. An
// example has `label_count` labels.
std::unique_ptr<MetricAccumulator> CreateWeighted(std::unique_ptr<MetricAccumulator> accumulator,
                                                  int64_t label_count);

// The mean of the training loss, with weights (Loss::Batch::loss_sum).
std::unique_ptr<MetricAccumulator> CreateOwnLossMean();

// The mean, and its square root; 0 if nothing was counted.
double MeanResult(absl::Span<const double> state);
double RootMeanResult(absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_MEANS_H_
