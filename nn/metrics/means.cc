#include "nn/metrics/means.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace cairn::nn {
namespace {

// The position of the largest value, the first one among equals.
int64_t Largest(const float* values, int64_t count) {
  return std::max_element(values, values + count) - values;
}

class MeanAccumulator : public MetricAccumulator {
 public:
  int state_size() const override { return 2; }
};

class CategoricalAccuracy final : public MeanAccumulator {
 public:
  CategoricalAccuracy(bool sparse, int64_t k) : sparse_(sparse), k_(k) {}

  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kCategoricalAccuracy, .sparse = sparse_, .k = k_};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t classes = batch.shape->back();
    const int64_t rows = batch.examples * (ElementCount(*batch.shape) / classes);
    int64_t right = 0;
    for (int64_t row = 0; row < rows; ++row) {
      right += IsRight(batch.output + row * classes, classes, Label(batch, row, classes));
    }
    state[0] += static_cast<double>(right);
    state[1] += static_cast<double>(rows);
  }

 private:
  int64_t Label(const Loss::Batch& batch, int64_t row, int64_t classes) const {
    if (sparse_) return static_cast<const int32_t*>(batch.labels)[row];
    return Largest(static_cast<const float*>(batch.labels) + row * classes, classes);
  }

  bool IsRight(const float* output, int64_t classes, int64_t label) const {
    if (k_ == 1) return Largest(output, classes) == label;
    // A label that the loss ignores may be no class.
    if (label < 0 || label >= classes || !std::isfinite(output[label])) return false;
    return std::count_if(output, output + classes,
                         [&](float other) { return other > output[label]; }) < k_;
  }

  const bool sparse_;
  const int64_t k_;
};

class BinaryAccuracy final : public MeanAccumulator {
 public:
  explicit BinaryAccuracy(float threshold) : threshold_(threshold) {}

  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kBinaryAccuracy, .threshold = threshold_};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t count = batch.examples * ElementCount(*batch.shape);
    const float* labels = static_cast<const float*>(batch.labels);
    int64_t right = 0;
    for (int64_t i = 0; i < count; ++i) {
      right += (batch.output[i] > threshold_ ? 1.0f : 0.0f) == labels[i];
    }
    state[0] += static_cast<double>(right);
    state[1] += static_cast<double>(count);
  }

 private:
  const float threshold_;
};

class Correlation final : public MeanAccumulator {
 public:
  explicit Correlation(bool concordance) : concordance_(concordance) {}

  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kCorrelation, .concordance = concordance_};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    const int64_t count = batch.shape->back();
    const int64_t rows = batch.examples * (ElementCount(*batch.shape) / count);
    for (int64_t row = 0; row < rows; ++row) {
      state[0] += OfRow(batch.output + row * count,
                        static_cast<const float*>(batch.labels) + row * count, count);
    }
    state[1] += static_cast<double>(rows);
  }

 private:
  double OfRow(const float* output, const float* labels, int64_t count) const {
    const auto n = static_cast<double>(count);
    double p_mean = 0, y_mean = 0;
    for (int64_t i = 0; i < count; ++i) {
      p_mean += output[i] / n;
      y_mean += labels[i] / n;
    }
    double p_variance = 0, y_variance = 0, covariance = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double p = output[i] - p_mean, y = labels[i] - y_mean;
      p_variance += p * p / n;
      y_variance += y * y / n;
      covariance += p * y / n;
    }
    if (!concordance_) return covariance / std::sqrt(p_variance * y_variance);
    const double gap = y_mean - p_mean;
    return 2 * covariance / (p_variance + y_variance + gap * gap + 1e-7);
  }

  const bool concordance_;
};

class LossMean final : public MeanAccumulator {
 public:
  LossMean(std::unique_ptr<Loss> loss, double sign) : loss_(std::move(loss)), sign_(sign) {}

  MetricSpec spec() const override {
    return {.kind = MetricSpec::Kind::kLossMean, .loss = loss_.get(), .sign = sign_};
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    Loss::Batch unweighted = batch;
    unweighted.weights = nullptr;
    // Compute cannot fail: the model's loss has accepted the same labels.
    state[0] += sign_ * loss_->Compute(unweighted, nullptr).value_or(std::nan(""));
    state[1] += static_cast<double>(batch.examples);
  }

 private:
  const std::unique_ptr<Loss> loss_;
  const double sign_;
};

class OwnLossMean final : public MeanAccumulator {
 public:
  MetricSpec spec() const override { return {.kind = MetricSpec::Kind::kOwnLossMean}; }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    state[0] += batch.loss_sum;
    state[1] += static_cast<double>(batch.examples);
  }
};

class WeightedAccumulator final : public MetricAccumulator {
 public:
  WeightedAccumulator(std::unique_ptr<MetricAccumulator> accumulator, int64_t label_count)
      : accumulator_(std::move(accumulator)), label_count_(label_count) {}

  int state_size() const override { return accumulator_->state_size(); }
  MetricSpec spec() const override {
    MetricSpec spec = accumulator_->spec();
    spec.weighted = true;
    return spec;
  }

  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const override {
    if (batch.weights == nullptr) return accumulator_->Accumulate(batch, state);
    // Labels are float or int32.
    static_assert(sizeof(float) == sizeof(int32_t));
    const auto label_bytes = static_cast<size_t>(label_count_) * sizeof(float);
    const int64_t outputs = ElementCount(*batch.shape);
    std::vector<double> of_example(state.size());
    Loss::Batch example = batch;
    example.examples = 1;
    example.weights = nullptr;
    for (int64_t i = 0; i < batch.examples; ++i) {
      example.output = batch.output + i * outputs;
      if (batch.logits != nullptr) example.logits = batch.logits + i * outputs;
      example.labels =
          static_cast<const char*>(batch.labels) + static_cast<size_t>(i) * label_bytes;
      std::fill(of_example.begin(), of_example.end(), 0);
      accumulator_->Accumulate(example, absl::MakeSpan(of_example));
      for (size_t j = 0; j < state.size(); ++j) state[j] += batch.weights[i] * of_example[j];
    }
  }

 private:
  const std::unique_ptr<MetricAccumulator> accumulator_;
  const int64_t label_count_;
};

}  // namespace

std::unique_ptr<MetricAccumulator> CreateWeighted(std::unique_ptr<MetricAccumulator> accumulator,
                                                  int64_t label_count) {
  return std::make_unique<WeightedAccumulator>(std::move(accumulator), label_count);
}

std::unique_ptr<MetricAccumulator> CreateCategoricalAccuracy(bool sparse, int64_t k) {
  return std::make_unique<CategoricalAccuracy>(sparse, k);
}

std::unique_ptr<MetricAccumulator> CreateBinaryAccuracy(float threshold) {
  return std::make_unique<BinaryAccuracy>(threshold);
}

std::unique_ptr<MetricAccumulator> CreateCorrelation(bool concordance) {
  return std::make_unique<Correlation>(concordance);
}

std::unique_ptr<MetricAccumulator> CreateLossMean(std::unique_ptr<Loss> loss, bool negative) {
  return std::make_unique<LossMean>(std::move(loss), negative ? -1 : 1);
}

std::unique_ptr<MetricAccumulator> CreateOwnLossMean() { return std::make_unique<OwnLossMean>(); }

double MeanResult(absl::Span<const double> state) {
  return state[1] == 0 ? 0 : state[0] / state[1];
}

double RootMeanResult(absl::Span<const double> state) { return std::sqrt(MeanResult(state)); }

}  // namespace cairn::nn
