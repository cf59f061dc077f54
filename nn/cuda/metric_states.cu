#include <algorithm>

#include "nn/cuda/loss_terms.h"
#include "nn/cuda/metric_states.h"
#include "nn/cuda/row_sums.h"
#include "nn/metrics/confusion.h"

// The formulas of nn/metrics. Each example counts with its weight, which is 1 for most metrics.

namespace cairn::nn::cuda {
namespace {

using Kind = MetricSpec::Kind;

// The batch for kernels; terms are the outputs or the rows of them.
struct Terms {
  MeasuredBatch batch;
  int64_t per_example = 1;

  __device__ const float* labels() const { return static_cast<const float*>(batch.labels); }
  __device__ int64_t class_label(int64_t i) const {
    return static_cast<const int32_t*>(batch.labels)[i];
  }
  __device__ double weight(int64_t term) const {
    return batch.weights == nullptr ? 1 : batch.weights[term / per_example];
  }
};

Terms Outputs(const MeasuredBatch& batch) { return {batch, batch.elements}; }
Terms Rows(const MeasuredBatch& batch) { return {batch, batch.elements / batch.width}; }
int64_t Count(const Terms& terms) { return terms.batch.examples * terms.per_example; }

// The state of a mean: the sum and the number of terms.
struct MeanState {
  double* state;

  __device__ void operator()(const double* sums) const {
    state[0] = sums[0];
    state[1] = sums[1];
  }
};

void CategoricalAccuracy(Context* context, const MetricSpec& spec, const MeasuredBatch& batch,
                         double* state) {
  const Terms rows = Rows(batch);
  const int64_t width = batch.width;
  const int64_t k = spec.k;
  const bool sparse = spec.sparse;
  SumRows<2>(
      context, Count(rows), width,
      [=] __device__(int64_t i, const RowTeam& team, double* sums) {
        const float* const output = rows.batch.output + i * width;
        const int64_t label =
            sparse ? rows.class_label(i)
                   : team.Largest(width, [&](int64_t c) { return rows.labels()[i * width + c]; });
        bool is_right;
        if (k == 1) {
          is_right = team.Largest(width, [&](int64_t c) { return output[c]; }) == label;
        } else {
          // A label that the loss ignores may be no class.
          const bool is_class = label >= 0 && label < width && std::isfinite(output[label]);
          double larger = 0;
          for (int64_t c = team.first(); c < width && is_class; c += team.step()) {
            larger += output[c] > output[label];
          }
          is_right = team.Sum(larger) < static_cast<double>(k) && is_class;
        }
        if (!team.leads()) return;
        sums[0] += is_right ? rows.weight(i) : 0;
        sums[1] += rows.weight(i);
      },
      MeanState{state});
}

void BinaryAccuracy(Context* context, const MetricSpec& spec, const MeasuredBatch& batch,
                    double* state) {
  const Terms outputs = Outputs(batch);
  const float threshold = spec.threshold;
  SumRows<2>(
      context, Count(outputs), 1,
      [=] __device__(int64_t i, const RowTeam& team, double* sums) {
        if (!team.leads()) return;
        const float predicted = outputs.batch.output[i] > threshold ? 1.0f : 0.0f;
        sums[0] += predicted == outputs.labels()[i] ? outputs.weight(i) : 0;
        sums[1] += outputs.weight(i);
      },
      MeanState{state});
}

void Correlation(Context* context, const MetricSpec& spec, const MeasuredBatch& batch,
                 double* state) {
  const Terms rows = Rows(batch);
  const int64_t width = batch.width;
  const bool concordance = spec.concordance;
  const auto n = static_cast<double>(width);
  SumRows<2>(
      context, Count(rows), width,
      [=] __device__(int64_t i, const RowTeam& team, double* sums) {
        const float* const output = rows.batch.output + i * width;
        const float* const labels = rows.labels() + i * width;
        double p_mean = 0, y_mean = 0;
        for (int64_t c = team.first(); c < width; c += team.step()) {
          p_mean += output[c] / n;
          y_mean += labels[c] / n;
        }
        p_mean = team.Sum(p_mean);
        y_mean = team.Sum(y_mean);
        double p_variance = 0, y_variance = 0, covariance = 0;
        for (int64_t c = team.first(); c < width; c += team.step()) {
          const double p = output[c] - p_mean, y = labels[c] - y_mean;
          p_variance += p * p / n;
          y_variance += y * y / n;
          covariance += p * y / n;
        }
        p_variance = team.Sum(p_variance);
        y_variance = team.Sum(y_variance);
        covariance = team.Sum(covariance);
        if (!team.leads()) return;
        const double gap = y_mean - p_mean;
        const double correlation =
            concordance ? 2 * covariance / (p_variance + y_variance + gap * gap + 1e-7)
                        : covariance / sqrt(p_variance * y_variance);
        sums[0] += rows.weight(i) * correlation;
        sums[1] += rows.weight(i);
      },
      MeanState{state});
}

void ConfusionCounts(Context* context, const MetricSpec& spec, const MeasuredBatch& batch,
                     double* state) {
  const Terms outputs = Outputs(batch);
  const int64_t width = batch.width;
  SumRows<4>(
      context, Count(outputs), 1,
      [=] __device__(int64_t i, const RowTeam& team, double* sums) {
        const int64_t c = i % width;
        if (!team.leads() || (spec.class_id >= 0 && c != spec.class_id)) return;
        const float output = outputs.batch.output[i];
        bool is_positive = output > spec.threshold;
        if (spec.k > 0) {
          // Among equal outputs the first ones rank higher.
          const float* const row = outputs.batch.output + (i - c);
          int64_t before = 0;
          for (int64_t other = 0; other < width && before < spec.k; ++other) {
            before += row[other] > output || (row[other] == output && other < c);
          }
          is_positive = is_positive && before < spec.k;
        }
        const Confusion kind =
            outputs.labels()[i] != 0
                ? (is_positive ? Confusion::kTruePositive : Confusion::kFalseNegative)
                : (is_positive ? Confusion::kFalsePositive : Confusion::kTrueNegative);
        for (int k = 0; k < 4; ++k) {
          if (k == static_cast<int>(kind)) sums[k] += outputs.weight(i);
        }
      },
      [=] __device__(const double* sums) {
        for (int i = 0; i < spec.kind_count; ++i) state[i] = sums[spec.kinds[i]];
      });
}

struct ScoredLabel {
  int64_t bucket;
  double label;
  double weight;
};

void Auc(Context* context, const MetricSpec& spec, const MeasuredBatch& batch, double* state) {
  const Terms outputs = Outputs(batch);
  const int64_t width = batch.width;
  CountBuckets<2, ScoredLabel>(
      context, Count(outputs), spec.thresholds,
      [=] __device__(int64_t i) {
        const float output = outputs.batch.output[i];
        const double score = spec.from_logits ? 1 / (1 + expf(-output)) : output;
        const double place = ceil((score < 1 ? score : 1.0) * (spec.thresholds - 1)) - 1;
        const bool counts = spec.class_id < 0 || i % width == spec.class_id;
        // A NaN is above no threshold.
        return ScoredLabel{score > 0 && place > 0 ? static_cast<int64_t>(place) : 0,
                           outputs.labels()[i], counts ? outputs.weight(i) : 0};
      },
      [=] __device__(const ScoredLabel& item, int64_t bucket, double* sums) {
        if (item.bucket != bucket || item.weight == 0) return;
        sums[0] += item.weight * item.label;
        sums[1] += item.weight * (1 - item.label);
      },
      state);
}

struct Prediction {
  int64_t label;
  int64_t predicted;
  double weight;
};

// For each class: the correct predictions, the labels, and the predictions. Labels that are no
// class are left out.
template <typename Predict>
void CountPredictions(Context* context, int64_t rows, int64_t classes, Predict predict,
                      double* state) {
  CountBuckets<3, Prediction>(
      context, rows, classes, predict,
      [=] __device__(const Prediction& item, int64_t bucket, double* sums) {
        if (item.label < 0 || item.label >= classes) return;
        const bool is_label = item.label == bucket, is_predicted = item.predicted == bucket;
        sums[0] += is_label && is_predicted ? item.weight : 0;
        sums[1] += is_label ? item.weight : 0;
        sums[2] += is_predicted ? item.weight : 0;
      },
      state);
}

// As std::max_element.
__device__ int64_t LargestOf(const float* values, int64_t count) {
  int64_t largest = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (values[largest] < values[i]) largest = i;
  }
  return largest;
}

void Iou(Context* context, const MetricSpec& spec, const MeasuredBatch& batch, double* state) {
  const Terms rows = Rows(batch);
  const int64_t width = batch.width;
  const bool sparse = spec.sparse;
  CountPredictions(
      context, Count(rows), spec.classes,
      [=] __device__(int64_t i) {
        return Prediction{
            sparse ? rows.class_label(i) : LargestOf(rows.labels() + i * width, width),
            LargestOf(rows.batch.output + i * width, width), rows.weight(i)};
      },
      state);
}

void BinaryIou(Context* context, const MetricSpec& spec, const MeasuredBatch& batch,
               double* state) {
  const Terms outputs = Outputs(batch);
  const float threshold = spec.threshold;
  CountPredictions(
      context, Count(outputs), 2,
      [=] __device__(int64_t i) {
        // Keras converts the labels to integers, which cuts off fractions.
        const float label = outputs.labels()[i];
        return Prediction{label > -1 && label < 2 ? static_cast<int64_t>(label) : -1,
                          outputs.batch.output[i] >= threshold ? 1 : 0, outputs.weight(i)};
      },
      state);
}

void FBeta(Context* context, const MetricSpec& spec, const MeasuredBatch& batch, double* state) {
  const Terms examples = {batch, 1};
  const int64_t classes = spec.classes;
  SumColumns<3>(
      context, batch.examples, classes,
      [=] __device__(int64_t i, int64_t c, ColumnSums<3> * sums) {
        const float* const output = batch.output + i * classes;
        const bool is_positive =
            spec.has_threshold
                ? output[c] > spec.threshold
                : output[c] >= output[LargestOf(output, classes)] && fabsf(output[c]) > 1e-9f;
        const double label = examples.labels()[i * classes + c];
        const double weight = examples.weight(i);
        sums->values[0] += is_positive ? weight * label : 0;
        sums->values[1] += is_positive ? weight * (1 - label) : 0;
        sums->values[2] += is_positive ? 0 : weight * label;
      },
      [=] __device__(int64_t c, const ColumnSums<3>& sums) {
        for (int i = 0; i < 3; ++i) state[i * classes + c] = sums.values[i];
      });
}

void R2(Context* context, const MetricSpec& spec, const MeasuredBatch& batch, double* state) {
  const Terms examples = {batch, 1};
  const int64_t classes = spec.classes;
  SumColumns<4>(
      context, batch.examples, classes,
      [=] __device__(int64_t i, int64_t c, ColumnSums<4> * sums) {
        const double label = examples.labels()[i * classes + c];
        const double error = label - batch.output[i * classes + c];
        const double weight = examples.weight(i);
        sums->values[0] += weight;
        sums->values[1] += weight * label;
        sums->values[2] += weight * label * label;
        sums->values[3] += weight * error * error;
      },
      [=] __device__(int64_t c, const ColumnSums<4>& sums) {
        if (c == 0) state[0] = sums.values[0];
        for (int i = 0; i < 3; ++i) state[1 + i * classes + c] = sums.values[1 + i];
      });
}

void LossMean(Context* context, const MetricSpec& spec, const MeasuredBatch& batch,
              double* label_statistic, double* state) {
  LossTask task;
  task.spec = spec.loss->spec();
  task.sparse = spec.loss->label_type() == proto::INT32;
  task.logits = batch.logits;
  task.is_softmax = batch.is_softmax;
  task.examples = batch.examples;
  task.elements = batch.elements;
  task.width = batch.width;
  task.output = batch.output;
  task.labels = batch.labels;
  task.weights = batch.weights;
  task.loss = state;
  task.sign = spec.sign;
  task.weight_sum = state + 1;
  task.label_statistic = label_statistic;
  ComputeLoss(context, task);
}

void OwnLossMean(Context* context, const MeasuredBatch& batch, double* state) {
  ForEach(context, 1, [=] __device__(int64_t) {
    state[0] = *batch.loss;
    state[1] = static_cast<double>(batch.examples);
  });
}

// The columns of the states that are sums for each class.
int64_t ColumnsOf(const MetricSpec& spec) {
  return spec.kind == Kind::kFBeta || spec.kind == Kind::kR2 ? spec.classes : 0;
}

}  // namespace

bool CanComputeMetric(const MetricSpec& spec) {
  if (spec.kind != Kind::kLossMean) return spec.kind != Kind::kOther;
  const LossSpec loss = spec.loss->spec();
  // With weights, what depends on the labels of a batch depends on those of each example.
  return CanComputeLoss(loss) && !(spec.weighted && UsesLabelStatistic(loss));
}

size_t StateScratchBytes(const MetricSpec& spec) {
  constexpr int64_t kManyRows = int64_t{1} << 40;
  return std::max({kRowScratchBytes, CountScratchBytes(spec.thresholds, 2),
                   CountScratchBytes(spec.classes, 3),
                   ColumnsOf(spec) == 0 ? 0 : ColumnScratchBytes<4>(kManyRows, ColumnsOf(spec))});
}

void ComputeState(Context* context, const MetricSpec& spec, const MeasuredBatch& measured,
                  double* label_statistic, double* state) {
  MeasuredBatch batch = measured;
  if (!spec.weighted) batch.weights = nullptr;
  switch (spec.kind) {
    case Kind::kAuc:
      return Auc(context, spec, batch, state);
    case Kind::kBinaryAccuracy:
      return BinaryAccuracy(context, spec, batch, state);
    case Kind::kBinaryIou:
      return BinaryIou(context, spec, batch, state);
    case Kind::kCategoricalAccuracy:
      return CategoricalAccuracy(context, spec, batch, state);
    case Kind::kConfusion:
      return ConfusionCounts(context, spec, batch, state);
    case Kind::kCorrelation:
      return Correlation(context, spec, batch, state);
    case Kind::kFBeta:
      return FBeta(context, spec, batch, state);
    case Kind::kIou:
      return Iou(context, spec, batch, state);
    case Kind::kLossMean:
      return LossMean(context, spec, batch, label_statistic, state);
    case Kind::kOwnLossMean:
      return OwnLossMean(context, batch, state);
    case Kind::kR2:
      return R2(context, spec, batch, state);
    case Kind::kOther:
      return;
  }
}

}  // namespace cairn::nn::cuda
