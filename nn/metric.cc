#include "nn/metric.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

// The position of the largest, the first one if there are several.
int64_t Largest(const float* values, int64_t count) {
  return std::max_element(values, values + count) - values;
}

// How often the largest output is the right class.
class CategoricalAccuracy : public Metric {
 public:
  CategoricalAccuracy(std::string name, bool sparse) : Metric(std::move(name)), sparse_(sparse) {}

  MetricSum Compute(const Loss::Batch& batch) const override {
    const int64_t classes = batch.shape->back();
    const int64_t rows = batch.examples * (ElementCount(*batch.shape) / classes);
    int64_t right = 0;
    for (int64_t row = 0; row < rows; ++row) {
      right += Largest(batch.output + row * classes, classes) == Label(batch, row, classes);
    }
    return {static_cast<double>(right), static_cast<double>(rows)};
  }

 private:
  int64_t Label(const Loss::Batch& batch, int64_t row, int64_t classes) const {
    if (sparse_) return static_cast<const int32_t*>(batch.labels)[row];
    return Largest(static_cast<const float*>(batch.labels) + row * classes, classes);
  }

  const bool sparse_;
};

// A mean over all elements of a function of output and label.
class ElementwiseMetric : public Metric {
 public:
  using Function = double (*)(float output, float label);
  ElementwiseMetric(std::string name, Function function)
      : Metric(std::move(name)), function_(function) {}

  MetricSum Compute(const Loss::Batch& batch) const override {
    const int64_t count = batch.examples * ElementCount(*batch.shape);
    const float* labels = static_cast<const float*>(batch.labels);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += function_(batch.output[i], labels[i]);
    return {sum, static_cast<double>(count)};
  }

 private:
  const Function function_;
};

double IsRightSide(float output, float label) {
  return (output > 0.5f ? 1.0f : 0.0f) == label ? 1 : 0;
}
double SquaredError(float output, float label) {
  const double difference = static_cast<double>(output) - label;
  return difference * difference;
}
double AbsoluteError(float output, float label) {
  return std::fabs(static_cast<double>(output) - label);
}

struct KnownMetric {
  const char* name;
  const char* alias;
  proto::DataType label_type;
  bool needs_classes;
  std::unique_ptr<Metric> (*create)(std::string name);
};

template <ElementwiseMetric::Function function>
std::unique_ptr<Metric> CreateElementwise(std::string name) {
  return std::make_unique<ElementwiseMetric>(std::move(name), function);
}

template <bool sparse>
std::unique_ptr<Metric> CreateCategorical(std::string name) {
  return std::make_unique<CategoricalAccuracy>(std::move(name), sparse);
}

constexpr KnownMetric kKnownMetrics[] = {
    {"sparse_categorical_accuracy", "", proto::INT32, true, CreateCategorical<true>},
    {"categorical_accuracy", "", proto::FLOAT32, true, CreateCategorical<false>},
    {"binary_accuracy", "", proto::FLOAT32, false, CreateElementwise<IsRightSide>},
    {"mean_squared_error", "mse", proto::FLOAT32, false, CreateElementwise<SquaredError>},
    {"mean_absolute_error", "mae", proto::FLOAT32, false, CreateElementwise<AbsoluteError>},
};

// Which metric "accuracy" means.
std::string_view ResolveAccuracy(const Loss& loss, const Shape& output_shape) {
  if (loss.label_type() == proto::INT32) return "sparse_categorical_accuracy";
  const bool binary = output_shape.empty() || output_shape.back() == 1;
  return binary ? "binary_accuracy" : "categorical_accuracy";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> CreateMetric(std::string_view name, const Loss& loss,
                                                     const Shape& output_shape) {
  const bool is_accuracy = name == "accuracy" || name == "acc";
  const std::string_view meant = is_accuracy ? ResolveAccuracy(loss, output_shape) : name;
  std::string known_names = "accuracy";
  for (const KnownMetric& known : kKnownMetrics) {
    absl::StrAppend(&known_names, ", ", known.name);
    if (meant != known.name && (meant.empty() || meant != known.alias)) continue;
    if (known.label_type != loss.label_type()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "metric ", known.name, " does not fit loss ", loss.name(), ", whose labels are ",
          loss.label_type() == proto::INT32 ? "class numbers" : "not class numbers"));
    }
    if (known.needs_classes && (output_shape.empty() || output_shape.back() < 2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "metric ", known.name, " needs at least 2 classes in the output's last axis, which is ",
          ShapeText(output_shape)));
    }
    return known.create(std::string(name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown metric '", std::string(name), "'; known: ", known_names));
}

}  // namespace cairn::nn
