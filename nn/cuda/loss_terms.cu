#include "nn/cuda/loss_terms.h"
#include "nn/cuda/row_sums.h"

// The formulas of nn/losses. Distances are computed in the same precision as there.

namespace cairn::nn::cuda {
namespace {

using Kind = LossSpec::Kind;

constexpr float kEpsilon = 1e-7f;
constexpr float kProbabilityMin = 1e-7f;
constexpr float kProbabilityMax = 1 - 1e-7f;
constexpr float kFloatMin = 1.17549435e-38f;  // The smallest normal one.
constexpr double kLog2 = 0.69314718055994530942;

__device__ float Clamped(float x, float low, float high) {
  return x < low ? low : high < x ? high : x;
}
__device__ float Clipped(float p) { return Clamped(p, kProbabilityMin, kProbabilityMax); }
__device__ bool IsClipped(float p) { return p < kProbabilityMin || p > kProbabilityMax; }
__device__ float Sign(float x) { return static_cast<float>((x > 0) - (x < 0)); }
__device__ float AtLeast(float x, float low) { return x < low ? low : x; }

// The crossentropy of an output, which is a logit or a probability, and its derivative.
__device__ double BinaryCrossentropy(bool from_logits, float output, float target,
                                     float* derivative) {
  if (from_logits) {
    const float power = expf(-fabsf(output));
    *derivative = (output < 0 ? power : 1.0f) / (1.0f + power) - target;
    return AtLeast(output, 0.0f) - output * target + log1pf(power);
  }
  const float p = Clipped(output);
  *derivative = IsClipped(output) ? 0 : (p - target) / (p * (1 - p));
  return -(target * logf(p) + (1 - target) * logf(1 - p));
}

__device__ float SmoothedTarget(const LossSpec& spec, float label) {
  return label * (1 - spec.label_smoothing) + 0.5f * spec.label_smoothing;
}

// x^gamma's derivative, which is 0 at 0 as the terms that it multiplies are.
__device__ double PowerSlope(double x, double gamma) {
  return x > 0 ? gamma * pow(x, gamma - 1) : 0;
}

__device__ double BinaryFocal(const LossSpec& spec, float output, float label, float* derivative) {
  const float target = SmoothedTarget(spec, label);
  const double y = target;
  const double p = spec.from_logits ? 1 / (1 + exp(-static_cast<double>(output))) : output;
  float entropy_slope = 0;
  const double entropy = BinaryCrossentropy(spec.from_logits, output, target, &entropy_slope);
  const double wrong = fmax(1 - (y * p + (1 - y) * (1 - p)), 0.0);
  const double focus = pow(wrong, spec.gamma);
  const double balance = spec.balances_classes ? y * spec.alpha + (1 - y) * (1 - spec.alpha) : 1;
  const double focus_slope =
      PowerSlope(wrong, spec.gamma) * (1 - 2 * y) * (spec.from_logits ? p * (1 - p) : 1);
  *derivative = static_cast<float>(balance * (focus * entropy_slope + entropy * focus_slope));
  return balance * focus * entropy;
}

__device__ double Hinge(bool squared, bool zeros_are_negative, float output, float label,
                        float* derivative) {
  const float side = zeros_are_negative ? 2 * label - 1 : label;
  const float margin = 1 - side * output;
  if (margin <= 0) return 0;
  *derivative = squared ? -2 * side * margin : -side;
  return squared ? static_cast<double>(margin) * margin : margin;
}

// The distance of an output from its label, and its derivative with respect to the output
// (initially 0).
__device__ double Distance(const LossTask& task, float output, float label, float* derivative) {
  const LossSpec& spec = task.spec;
  const float difference = output - label;
  switch (spec.kind) {
    case Kind::kBinaryCrossentropy:
      return BinaryCrossentropy(spec.from_logits, output, SmoothedTarget(spec, label), derivative);
    case Kind::kBinaryFocalCrossentropy:
      return BinaryFocal(spec, output, label, derivative);
    case Kind::kHinge:
    case Kind::kSquaredHinge:
      return Hinge(spec.kind == Kind::kSquaredHinge, *task.label_statistic == 0, output, label,
                   derivative);
    case Kind::kHuber: {
      const double size = fabsf(difference);
      *derivative = Clamped(difference, -spec.delta, spec.delta);
      return size <= spec.delta ? 0.5 * size * size
                                : spec.delta * size - 0.5 * spec.delta * spec.delta;
    }
    case Kind::kLogCosh: {
      const double exact = static_cast<double>(output) - label;
      const double size = fabs(exact);
      *derivative = static_cast<float>(tanh(exact));
      // log cosh d = |d| + log(1 + exp(-2 |d|)) - log 2 does not overflow.
      return size + log1p(exp(-2 * size)) - kLog2;
    }
    case Kind::kMeanAbsoluteError:
      *derivative = Sign(difference);
      return fabsf(difference);
    case Kind::kMeanAbsolutePercentageError: {
      const float unit = 100 / AtLeast(fabsf(label), kEpsilon);
      *derivative = unit * Sign(difference);
      return static_cast<double>(unit) * fabsf(difference);
    }
    case Kind::kMeanSquaredError:
      *derivative = 2 * difference;
      return static_cast<double>(difference) * difference;
    case Kind::kMeanSquaredLogarithmicError: {
      const float logs = log1pf(AtLeast(output, kEpsilon)) - log1pf(AtLeast(label, kEpsilon));
      *derivative = output > kEpsilon ? 2 * logs / (output + 1) : 0;
      return static_cast<double>(logs) * logs;
    }
    case Kind::kPoisson:
      *derivative = 1 - label / (output + kEpsilon);
      return output - static_cast<double>(label) * logf(output + kEpsilon);
    case Kind::kWasserstein:
      *derivative = label;
      return static_cast<double>(label) * output;
    default:
      return 0;
  }
}

// One row of outputs. The threads of a team add their parts of the row's distance to `*sum`, and
// write `factor` times its derivatives to `gradient`, unless that is null.
struct Row {
  const float* output = nullptr;
  const float* logits = nullptr;  // Null if the output is not their softmax.
  const float* labels = nullptr;  // Null if labels are class labels.
  int64_t label = 0;              // The class label; no class if the row does not count.
  int64_t width = 0;
  float weight = 1;
  float factor = 0;
  float* gradient = nullptr;
  double* sum = nullptr;

  __device__ bool counts() const { return labels != nullptr || (label >= 0 && label < width); }
};

// The target of class c: one-hot, or the labels after smoothing.
struct Target {
  const float* labels;
  int64_t label;
  float kept;
  float added;

  __device__ float operator()(int64_t c) const {
    if (labels == nullptr) return c == label ? 1.0f : 0.0f;
    return kept * labels[c] + added;
  }
};

// The logarithm of the softmax's output for class c, as in nn/losses. Few are too small for a
// float, so one thread may search the row.
__device__ float LogProbability(const Row& row, int64_t c) {
  if (row.output[c] >= kFloatMin) return logf(row.output[c]);
  int64_t largest = 0;
  for (int64_t i = 1; i < row.width; ++i) {
    if (row.output[i] > row.output[largest]) largest = i;
  }
  return logf(row.output[largest]) + (row.logits[c] - row.logits[largest]);
}

__device__ void Crossentropy(const LossTask& task, const Row& row, const RowTeam& team) {
  const float smoothing = task.spec.label_smoothing;
  const Target target = {row.labels, row.label, 1 - smoothing,
                         smoothing / static_cast<float>(row.width)};
  const bool is_softmax = row.logits != nullptr;
  const bool is_sparse = row.labels == nullptr;
  // Probabilities are normalized by their sum. The logarithm of logits' sum of exponentials is
  // computed without overflow.
  double total = 1, target_sum = 1;
  if (task.spec.from_logits) {
    double maximum = -HUGE_VAL;
    for (int64_t c = team.first(); c < row.width; c += team.step()) {
      maximum = fmax(maximum, static_cast<double>(row.output[c]));
    }
    maximum = team.Maximum(maximum);
    double sum = 0;
    for (int64_t c = team.first(); c < row.width; c += team.step()) {
      sum += expf(row.output[c] - static_cast<float>(maximum));
    }
    total = log(team.Sum(sum)) + maximum;
  } else if (!is_softmax) {
    double sum = 0;
    for (int64_t c = team.first(); c < row.width; c += team.step()) {
      sum += is_sparse ? Clipped(row.output[c]) : row.output[c];
    }
    total = team.Sum(sum);
  }
  const auto sum = static_cast<float>(total);
  const bool is_normalized = !task.spec.from_logits && !is_softmax;
  // A probability that is clipped, before or after it is normalized, contributes no gradient.
  const auto is_live = [&](int64_t c) {
    return !is_normalized || !IsClipped(is_sparse ? row.output[c] : row.output[c] / sum);
  };
  double loss = 0, targets = 0;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    const float y = target(c);
    if (y != 0) {
      const double distance = is_softmax              ? -LogProbability(row, c)
                              : task.spec.from_logits ? total - row.output[c]
                              : is_sparse             ? -logf(Clipped(row.output[c]) / sum)
                                                      : -logf(Clipped(row.output[c] / sum));
      loss += y * distance;
    }
    if (is_live(c)) targets += y;
  }
  *row.sum += row.weight * loss;
  if (row.gradient == nullptr) return;
  if (row.labels != nullptr) target_sum = team.Sum(targets);
  const auto all = static_cast<float>(target_sum);
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    const float y = target(c);
    float slope;
    if (is_normalized) {
      slope = (is_live(c) && y != 0 ? -y / row.output[c] : 0) +
              (is_sparse && !is_live(c) ? 0 : all / sum);
    } else {
      const float p =
          task.spec.from_logits ? static_cast<float>(exp(row.output[c] - total)) : row.output[c];
      slope = p * all - y;
    }
    row.gradient[c] = row.counts() ? row.factor * slope : 0;
  }
}

__device__ void GeneralizedCrossentropy(const LossTask& task, const Row& row, const RowTeam& team) {
  const double q = task.spec.q;
  const double p = row.counts() ? row.output[row.label] : 1;
  if (team.leads()) *row.sum += row.weight * (1 - pow(p, q)) / q;
  if (row.gradient == nullptr) return;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    row.gradient[c] = c == row.label ? static_cast<float>(-row.factor * pow(p, q - 1)) : 0;
  }
}

__device__ void CategoricalFocal(const LossTask& task, const Row& row, const RowTeam& team) {
  const LossSpec& spec = task.spec;
  double maximum = 0;
  if (spec.from_logits) {
    maximum = -HUGE_VAL;
    for (int64_t c = team.first(); c < row.width; c += team.step()) {
      maximum = fmax(maximum, static_cast<double>(row.output[c]));
    }
    maximum = team.Maximum(maximum);
  }
  const auto raw = [&](int64_t c) {
    return spec.from_logits ? exp(row.output[c] - maximum) : static_cast<double>(row.output[c]);
  };
  double sum = 0;
  for (int64_t c = team.first(); c < row.width; c += team.step()) sum += raw(c);
  sum = team.Sum(sum);
  double loss = 0, inner = 0;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    const auto share = static_cast<float>(raw(c) / sum);
    const double p = Clipped(share);
    const double y = row.labels[c] * (1 - spec.label_smoothing) +
                     spec.label_smoothing / static_cast<float>(row.width);
    const double focus = pow(1 - p, spec.gamma);
    loss -= spec.alpha * focus * y * log(p);
    if (row.gradient == nullptr) continue;
    // With respect to the probability p; below, to the output that it is a share of.
    const double slope = PowerSlope(1 - p, spec.gamma) * log(p) - focus / p;
    row.gradient[c] = IsClipped(share) ? 0 : static_cast<float>(spec.alpha * y * slope);
    inner += row.gradient[c] * (raw(c) / sum);
  }
  *row.sum += row.weight * loss;
  if (row.gradient == nullptr) return;
  inner = team.Sum(inner);
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    const double per_output = spec.from_logits ? raw(c) / sum : 1 / sum;
    row.gradient[c] = static_cast<float>(row.factor * per_output * (row.gradient[c] - inner));
  }
}

__device__ void CategoricalHinge(const Row& row, const RowTeam& team) {
  const auto wrongness = [&](int64_t c) { return (1 - row.labels[c]) * row.output[c]; };
  const int64_t wrong = team.Largest(row.width, wrongness);
  double right = 0;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    right += static_cast<double>(row.labels[c]) * row.output[c];
  }
  const double margin = wrongness(wrong) - team.Sum(right) + 1;
  if (team.leads()) *row.sum += row.weight * (margin < 0 ? 0 : margin);
  if (row.gradient == nullptr) return;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    float slope = -row.labels[c];
    if (c == wrong) slope += 1 - row.labels[c];
    row.gradient[c] = margin > 0 ? row.factor * slope : 0;
  }
}

__device__ void CosineSimilarity(const Row& row, const RowTeam& team) {
  double product = 0, output_square = 0, label_square = 0;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    product += static_cast<double>(row.labels[c]) * row.output[c];
    output_square += static_cast<double>(row.output[c]) * row.output[c];
    label_square += static_cast<double>(row.labels[c]) * row.labels[c];
  }
  product = team.Sum(product);
  output_square = team.Sum(output_square);
  label_square = team.Sum(label_square);
  const double output_norm = sqrt(output_square);
  const double norms = fmax(output_norm, static_cast<double>(kEpsilon)) *
                       fmax(sqrt(label_square), static_cast<double>(kEpsilon));
  const double cosine = product / norms;
  if (team.leads()) *row.sum -= row.weight * cosine;
  if (row.gradient == nullptr) return;
  // A norm below e is replaced by the constant e, which has no derivative.
  const double pull = output_norm > kEpsilon ? cosine / output_square : 0;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    row.gradient[c] =
        static_cast<float>(-row.factor * (row.labels[c] / norms - pull * row.output[c]));
  }
}

__device__ void KlDivergence(const Row& row, const RowTeam& team) {
  double sum = 0;
  for (int64_t c = team.first(); c < row.width; c += team.step()) {
    const float y = Clamped(row.labels[c], kEpsilon, 1.0f);
    const float p = Clamped(row.output[c], kEpsilon, 1.0f);
    sum += y * log(static_cast<double>(y) / p);
    const bool clipped = row.output[c] < kEpsilon || row.output[c] > 1;
    if (row.gradient != nullptr) row.gradient[c] = clipped ? 0 : -row.factor * y / p;
  }
  *row.sum += row.weight * sum;
}

__device__ void AddRow(const LossTask& task, const Row& row, const RowTeam& team) {
  switch (task.spec.kind) {
    case Kind::kCategoricalCrossentropy:
      return Crossentropy(task, row, team);
    case Kind::kCategoricalFocalCrossentropy:
      return CategoricalFocal(task, row, team);
    case Kind::kCategoricalHinge:
      return CategoricalHinge(row, team);
    case Kind::kCosineSimilarity:
      return CosineSimilarity(row, team);
    case Kind::kGeneralizedCrossentropy:
      return GeneralizedCrossentropy(task, row, team);
    case Kind::kKlDivergence:
      return KlDivergence(row, team);
    default:
      return;
  }
}

bool IsOfRows(Kind kind) { return kind >= Kind::kCategoricalCrossentropy; }

// Writes a number about all labels of the batch: the factor of a loss with an ignored class, or how
// many labels are neither 0 nor 1.
void ComputeLabelStatistic(Context* context, const LossTask& task) {
  double* const label_statistic = task.label_statistic;
  if (!task.spec.has_ignored_class) {
    const auto* const labels = static_cast<const float*>(task.labels);
    SumRows<1>(
        context, task.examples * task.elements, 1,
        [=] __device__(int64_t i, const RowTeam& team, double* sums) {
          if (team.leads() && labels[i] != 0 && labels[i] != 1) sums[0] += 1;
        },
        [=] __device__(const double* sums) { *label_statistic = sums[0]; });
    return;
  }
  const auto* const labels = static_cast<const int32_t*>(task.labels);
  const int64_t ignored = task.spec.ignored_class;
  const int64_t rows = task.examples * task.elements / task.width;
  const auto count = static_cast<double>(rows);
  SumRows<1>(
      context, rows, 1,
      [=] __device__(int64_t row, const RowTeam& team, double* sums) {
        if (team.leads() && labels[row] != ignored) sums[0] += 1;
      },
      [=] __device__(const double* sums) {
        *label_statistic = sums[0] == 0 ? 0 : count / sums[0];
      });
}

// Turns the sum of the terms into the loss, and the sum of the terms' weights into that of the
// examples'.
struct Finish {
  double* loss;
  double* weight_sum;
  const double* share;
  double factor;
  double terms_per_example;

  __device__ void operator()(const double* sums) const {
    *loss = (share == nullptr ? 1 : *share) * sums[0] / terms_per_example * factor;
    if (weight_sum != nullptr) *weight_sum = sums[1] / terms_per_example;
  }
};

void SumElements(Context* context, const LossTask& task, float factor, const Finish& finish) {
  SumRows<2>(
      context, task.examples * task.elements, 1,
      [=] __device__(int64_t i, const RowTeam& team, double* sums) {
        if (!team.leads()) return;
        const float weight = task.weights == nullptr ? 1 : task.weights[i / task.elements];
        float derivative = 0;
        const float label = static_cast<const float*>(task.labels)[i];
        sums[0] += weight * Distance(task, task.output[i], label, &derivative);
        sums[1] += weight;
        if (task.gradient != nullptr) task.gradient[i] = factor * weight * derivative;
      },
      finish);
}

void SumDistancesOfRows(Context* context, const LossTask& task, float factor,
                        const Finish& finish) {
  const int64_t positions = task.elements / task.width;
  SumRows<2>(
      context, task.examples * positions, task.width,
      [=] __device__(int64_t i, const RowTeam& team, double* sums) {
        const int64_t place = i * task.width;
        Row row;
        row.output = task.output + place;
        if (task.logits != nullptr) row.logits = task.logits + place;
        row.width = task.width;
        row.weight = task.weights == nullptr ? 1 : task.weights[i / positions];
        const bool has_share = task.spec.has_ignored_class;
        row.factor =
            (has_share ? factor * static_cast<float>(*task.label_statistic) : factor) * row.weight;
        row.gradient = task.gradient == nullptr ? nullptr : task.gradient + place;
        row.sum = &sums[0];
        if (task.sparse) {
          row.label = static_cast<const int32_t*>(task.labels)[i];
          const bool is_ignored = has_share && row.label == task.spec.ignored_class;
          if (is_ignored) row.label = -1;
          if (!is_ignored && !row.counts() && team.leads()) {
            if (task.invalid != nullptr) *task.invalid = 1;
            sums[0] = NAN;
          }
        } else {
          row.labels = static_cast<const float*>(task.labels) + place;
        }
        AddRow(task, row, team);
        if (team.leads()) sums[1] += row.weight;
      },
      finish);
}

// Returns the task whose `output` is the logits, if the loss takes them (Loss::TakesLogitsOf). Only
// the crossentropy of a softmax reads both; no other task keeps `logits`.
LossTask TakeLogits(LossTask task) {
  const Kind kind = task.spec.kind;
  const bool of_both = kind == Kind::kCategoricalCrossentropy && task.is_softmax;
  const bool of_logits =
      kind == Kind::kCategoricalCrossentropy || kind == Kind::kBinaryCrossentropy ||
      (kind == Kind::kBinaryFocalCrossentropy && !task.is_softmax && !task.spec.from_logits);
  if (task.logits != nullptr && of_logits) {
    task.spec.from_logits = !of_both;
    if (of_both) return task;
    task.output = task.logits;
  }
  task.logits = nullptr;
  return task;
}

}  // namespace

size_t LossScratchBytes() { return kRowScratchBytes; }

void ComputeLoss(Context* context, const LossTask& given) {
  const LossTask task = TakeLogits(given);
  const bool of_rows = IsOfRows(task.spec.kind);
  const int64_t positions = task.elements / task.width;
  const int64_t terms = of_rows ? positions : task.elements;
  if (UsesLabelStatistic(task.spec)) ComputeLabelStatistic(context, task);
  Finish finish = {.loss = task.loss,
                   .weight_sum = task.weight_sum,
                   .share = task.spec.has_ignored_class ? task.label_statistic : nullptr,
                   .factor = task.sign,
                   .terms_per_example = static_cast<double>(terms)};
  float gradient_scale = task.gradient_scale;
  if (task.spec.is_sum) {
    gradient_scale *= static_cast<float>(positions * task.examples);
    finish.factor *= static_cast<double>(positions) * static_cast<double>(task.examples);
  }
  const float factor = gradient_scale / static_cast<float>(task.gradient_divisor * terms);
  if (of_rows) {
    SumDistancesOfRows(context, task, factor, finish);
  } else {
    SumElements(context, task, factor, finish);
  }
}

}  // namespace cairn::nn::cuda
