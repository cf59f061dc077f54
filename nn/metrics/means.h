#ifndef CAIRN_NN_METRICS_MEANS_H_
#define CAIRN_NN_METRICS_MEANS_H_

#include <cstdint>
#include <memory>

#include "nn/loss.h"
#include "nn/metrics/counter.h"

namespace cairn::nn {

// Metrics that are means: the state is a sum and how much it is the sum of.
// keras/src/metrics/accuracy_metrics.py (Keras 3).

// How often the label is among the `k` classes of the last axis with the largest outputs: that is,
// fewer than k are larger. With k 1 the first of the largest must be it. `sparse`: labels are class
// numbers; else the label is the first of the largest.
std::unique_ptr<MetricCounter> CreateCategoricalAccuracy(bool sparse, int64_t k);

// How often an output is above the threshold just when its label is 1.
std::unique_ptr<MetricCounter> CreateBinaryAccuracy(float threshold);

// The mean of `loss` over examples, or of minus that.
std::unique_ptr<MetricCounter> CreateLossMean(std::unique_ptr<Loss> loss, bool negative);

// The mean of the loss that the batch was counted with, weights included (Loss::Batch::loss_sum).
std::unique_ptr<MetricCounter> CreateOwnLossMean();

// 0 if nothing was counted.
double MeanResult(absl::Span<const double> state);
double RootMeanResult(absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_MEANS_H_
