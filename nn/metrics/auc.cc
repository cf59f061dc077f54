#include "nn/metrics/auc.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cairn::nn {
namespace {

class AucAccumulator final : public MetricAccumulator {
 public:
  explicit AucAccumulator(const AucOptions& options) : options_(options) {}

  int state_size() const override { return 2 * options_.thresholds; }
  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kAuc,
            .class_id = options_.class_id,
            .thresholds = options_.thresholds,
            .from_logits = options_.from_logits};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t count = batch.examples * ElementCount(*batch.shape);
    const float* labels = static_cast<const float*>(batch.labels);
    const int64_t classes = batch.shape->empty() ? 1 : batch.shape->back();
    for (int64_t i = 0; i < count; ++i) {
      if (options_.class_id >= 0 && i % classes != options_.class_id) continue;
      const int bucket = BucketOf(batch.output[i]);
      state[bucket] += labels[i];
      state[options_.thresholds + bucket] += 1 - static_cast<double>(labels[i]);
    }
  }

 private:
  int BucketOf(float output) const {
    const double score = options_.from_logits ? 1 / (1 + std::exp(-output)) : output;
    const int intervals = options_.thresholds - 1;
    // A NaN is above no threshold.
    if (!(score > 0)) return 0;
    return std::max(0, static_cast<int>(std::ceil(std::min(score, 1.0) * intervals)) - 1);
  }

  const AucOptions options_;
};

double Divide(double a, double b) { return b == 0 ? 0 : a / b; }

// True and false positives by threshold.
struct Curve {
  std::vector<double> true_positives;
  std::vector<double> false_positives;
  double positives = 0;
  double negatives = 0;
};

Curve CurveOf(int thresholds, absl::Span<const double> state) {
  Curve curve;
  curve.true_positives.resize(thresholds);
  curve.false_positives.resize(thresholds);
  for (int i = thresholds - 1; i >= 0; --i) {
    curve.positives += state[i];
    curve.negatives += state[thresholds + i];
    curve.true_positives[i] = curve.positives;
    curve.false_positives[i] = curve.negatives;
  }
  return curve;
}

// Davis & Goadrich 2006: between two thresholds precision is interpolated linearly in the number of
// true positives, not in recall.
double InterpolatedPrArea(const Curve& curve) {
  double area = 0;
  for (size_t i = 0; i + 1 < curve.true_positives.size(); ++i) {
    const double tp = curve.true_positives[i + 1];
    const double above = curve.true_positives[i] + curve.false_positives[i];
    const double next_above = tp + curve.false_positives[i + 1];
    const double gained = curve.true_positives[i] - tp;
    const double slope = Divide(gained, std::max(above - next_above, 0.0));
    const double intercept = tp - slope * next_above;
    const double ratio = above > 0 && next_above > 0 ? above / next_above : 1;
    area += Divide(slope * (gained + intercept * std::log(ratio)), curve.positives);
  }
  return area;
}

}  // namespace

std::unique_ptr<MetricAccumulator> CreateAuc(const AucOptions& options) {
  return std::make_unique<AucAccumulator>(options);
}

double AucResult(const AucOptions& options, absl::Span<const double> state) {
  const Curve curve = CurveOf(options.thresholds, state);
  const bool pr = options.curve == AucOptions::Curve::kPr;
  if (pr && options.summation == AucOptions::Summation::kInterpolation) {
    return InterpolatedPrArea(curve);
  }
  const auto recall = [&](int i) { return Divide(curve.true_positives[i], curve.positives); };
  const auto x = [&](int i) {
    return pr ? recall(i) : Divide(curve.false_positives[i], curve.negatives);
  };
  const auto y = [&](int i) {
    const double tp = curve.true_positives[i];
    return pr ? Divide(tp, tp + curve.false_positives[i]) : recall(i);
  };
  double area = 0;
  for (int i = 0; i + 1 < options.thresholds; ++i) {
    double height = (y(i) + y(i + 1)) / 2;
    if (options.summation == AucOptions::Summation::kMinoring) height = std::min(y(i), y(i + 1));
    if (options.summation == AucOptions::Summation::kMajoring) height = std::max(y(i), y(i + 1));
    area += (x(i) - x(i + 1)) * height;
  }
  return area;
}

double BestRate(Rate wanted, Rate given, double value, const AucOptions& options,
                absl::Span<const double> state) {
  const Curve curve = CurveOf(options.thresholds, state);
  const auto rate = [&](Rate which, int i) {
    const double tp = curve.true_positives[i], fp = curve.false_positives[i];
    if (which == Rate::kPrecision) return Divide(tp, tp + fp);
    return which == Rate::kRecall ? Divide(tp, curve.positives)
                                  : Divide(curve.negatives - fp, curve.negatives);
  };
  double best = 0;
  for (int i = 0; i < options.thresholds; ++i) {
    if (rate(given, i) >= value) best = std::max(best, rate(wanted, i));
  }
  return best;
}

}  // namespace cairn::nn
