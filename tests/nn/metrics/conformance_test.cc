#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/random.h"
#include "nn/metric.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

proto::Metric Config(const std::string& name) {
  proto::Metric config;
  config.set_name(name);
  return config;
}

// Examples of `classes` outputs in [0, 1], a few of them at thresholds, with labels of both forms.
struct Data {
  Shape shape;
  int64_t rows = 0;
  std::vector<float> output;
  std::vector<float> labels;     // 0 or 1; a row of several has one 1
  std::vector<int32_t> classes;  // the position of that 1

  Data(int64_t row_count, int64_t class_count, uint64_t key)
      : shape({class_count}), rows(row_count) {
    for (int64_t i = 0; i < rows * class_count; ++i) {
      const float u = RandomUniform(key, i);
      output.push_back(i % 7 == 0 ? std::round(u * 4) / 4 : u);
      labels.push_back(class_count == 1 ? std::round(RandomUniform(key + 1, i)) : 0);
    }
    for (int64_t row = 0; row < rows; ++row) {
      classes.push_back(static_cast<int32_t>(RandomUniform(key + 2, row) * class_count));
      if (class_count > 1) labels[row * class_count + classes[row]] = 1;
    }
  }

  float at(int64_t row, int64_t c) const { return output[row * shape[0] + c]; }

  Loss::Batch Batch(bool sparse, int64_t begin, int64_t end) const {
    const int64_t width = shape[0];
    const void* given =
        sparse ? static_cast<const void*>(classes.data() + begin) : labels.data() + begin * width;
    return {.examples = end - begin,
            .shape = &shape,
            .output = output.data() + begin * width,
            .labels = given};
  }
};

std::unique_ptr<Loss> LossFor(bool sparse) {
  proto::Loss config;
  config.set_name(sparse ? "sparse_categorical_crossentropy" : "mse");
  return *CreateLoss(config);
}

// A metric's definition as plain loops over the whole data.
struct Defined {
  proto::Metric config;
  bool sparse;
  int64_t classes;
  std::function<double(const Data&)> value;
};

// The number of classes of the row that rank before class c by output; among equals the first one
// ranks higher.
int64_t RankOf(const Data& data, int64_t row, int64_t c) {
  int64_t rank = 0;
  for (int64_t other = 0; other < data.shape[0]; ++other) {
    const float a = data.at(row, other), b = data.at(row, c);
    rank += a > b || (a == b && other < c);
  }
  return rank;
}

double MeanOverRows(const Data& data, const std::function<double(int64_t row)>& term) {
  double sum = 0;
  for (int64_t row = 0; row < data.rows; ++row) sum += term(row);
  return sum / static_cast<double>(data.rows);
}

double Accuracy(const Data& data) {
  return MeanOverRows(data, [&](int64_t row) { return RankOf(data, row, data.classes[row]) == 0; });
}

double TopK(const Data& data, int64_t k) {
  return MeanOverRows(data, [&](int64_t row) {
    int64_t larger = 0;
    for (int64_t c = 0; c < data.shape[0]; ++c) {
      larger += data.at(row, c) > data.at(row, data.classes[row]);
    }
    return larger < k;
  });
}

struct Confused {
  double tp = 0, fp = 0, tn = 0, fn = 0;
};

Confused Confuse(const Data& data, const std::function<bool(int64_t row, int64_t c)>& positive,
                 int64_t class_id = -1) {
  Confused counts;
  for (int64_t row = 0; row < data.rows; ++row) {
    for (int64_t c = 0; c < data.shape[0]; ++c) {
      if (class_id >= 0 && c != class_id) continue;
      const bool label = data.labels[row * data.shape[0] + c] != 0;
      if (positive(row, c)) {
        ++(label ? counts.tp : counts.fp);
      } else {
        ++(label ? counts.fn : counts.tn);
      }
    }
  }
  return counts;
}

Confused Above(const Data& data, double threshold, int64_t class_id = -1) {
  return Confuse(
      data, [&](int64_t row, int64_t c) { return data.at(row, c) > threshold; }, class_id);
}

double Divide(double a, double b) { return b == 0 ? 0 : a / b; }

double InterpolatedPr(const Confused& a, const Confused& b) {
  const double dtp = a.tp - b.tp, p = a.tp + a.fp, next_p = b.tp + b.fp;
  const double slope = Divide(dtp, std::max(p - next_p, 0.0));
  const double intercept = b.tp - slope * next_p;
  const double ratio = p > 0 && next_p > 0 ? p / next_p : 1;
  return Divide(slope * (dtp + intercept * std::log(ratio)), b.tp + b.fn);
}

// Keras's definition, threshold by threshold: the first is below 0, the last above 1.
double Auc(const Data& data, int thresholds, bool pr, const std::string& summation) {
  std::vector<Confused> at;
  for (int i = 0; i < thresholds; ++i) {
    const double inner = i / (thresholds - 1.0);
    at.push_back(Above(data, i == 0 ? -1e-7 : i == thresholds - 1 ? 1 + 1e-7 : inner));
  }
  const auto x = [&](const Confused& c) {
    return pr ? Divide(c.tp, c.tp + c.fn) : Divide(c.fp, c.fp + c.tn);
  };
  const auto y = [&](const Confused& c) {
    return pr ? Divide(c.tp, c.tp + c.fp) : Divide(c.tp, c.tp + c.fn);
  };
  double area = 0;
  for (int i = 0; i + 1 < thresholds; ++i) {
    const Confused &a = at[i], &b = at[i + 1];
    if (pr && summation == "interpolation") {
      area += InterpolatedPr(a, b);
      continue;
    }
    double height = (y(a) + y(b)) / 2;
    if (summation == "minoring") height = std::min(y(a), y(b));
    if (summation == "majoring") height = std::max(y(a), y(b));
    area += (x(a) - x(b)) * height;
  }
  return area;
}

double MeanIou(const Data& data) {
  double sum = 0, valid = 0;
  for (int64_t c = 0; c < data.shape[0]; ++c) {
    double both = 0, either = 0;
    for (int64_t row = 0; row < data.rows; ++row) {
      const bool predicted = RankOf(data, row, c) == 0, label = data.classes[row] == c;
      both += predicted && label;
      either += predicted || label;
    }
    if (either == 0) continue;
    sum += both / either;
    ++valid;
  }
  return sum / valid;
}

std::function<double(const Data&)> MeanOf(const std::function<double(double, double)>& term) {
  return [term](const Data& data) {
    double sum = 0;
    for (size_t i = 0; i < data.output.size(); ++i) sum += term(data.output[i], data.labels[i]);
    return sum / static_cast<double>(data.output.size());
  };
}

std::vector<Defined> Accuracies() {
  proto::Metric top2 = Config("TopKCategoricalAccuracy");
  proto::Metric sparse3 = Config("sparse_top_k_categorical_accuracy");
  proto::Metric strict = Config("binary_accuracy");
  top2.set_k(2);
  sparse3.set_k(3);
  strict.set_threshold(0.75);
  const auto binary = [](double threshold) {
    return MeanOf([=](double p, double y) { return (p > threshold) == (y == 1); });
  };
  return {
      {Config("accuracy"), true, 5, Accuracy},
      {Config("acc"), false, 5, Accuracy},
      {Config("accuracy"), false, 1, binary(0.5)},
      {Config("CategoricalAccuracy"), false, 3, Accuracy},
      {Config("sparse_categorical_accuracy"), true, 3, Accuracy},
      {strict, false, 1, binary(0.75)},
      {top2, false, 7, [](const Data& data) { return TopK(data, 2); }},
      {sparse3, true, 7, [](const Data& data) { return TopK(data, 3); }},
      {Config("sparse_top_k_categorical_accuracy"), true, 9,
       [](const Data& data) { return TopK(data, 5); }},
  };
}

// Precision and recall of each class at a threshold, as F-beta.
// `average` may be the number of a class.
double FBeta(const Data& data, double beta, const std::string& average, double threshold) {
  const auto score = [beta](const Confused& c) {
    const double precision = Divide(c.tp, c.tp + c.fp), recall = Divide(c.tp, c.tp + c.fn);
    return Divide((1 + beta * beta) * precision * recall, beta * beta * precision + recall);
  };
  if (average == "micro") return score(Above(data, threshold));
  if (average == "2") return score(Above(data, threshold, 2));
  double sum = 0, labels = 0, weighted = 0;
  for (int64_t c = 0; c < data.shape[0]; ++c) {
    const Confused counts = Above(data, threshold, c);
    sum += score(counts);
    labels += counts.tp + counts.fn;
    weighted += score(counts) * (counts.tp + counts.fn);
  }
  return average == "macro" ? sum / static_cast<double>(data.shape[0]) : weighted / labels;
}

// Of one class if `only` is not negative.
double R2(const Data& data, bool weighted, int64_t only = -1) {
  const int64_t classes = data.shape[0];
  double sum = 0, weights = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const auto label = [&](int64_t row) { return double{data.labels[row * classes + c]}; };
    const double mean = MeanOverRows(data, label);
    const double variance =
        MeanOverRows(data, [&](int64_t row) { return std::pow(label(row) - mean, 2); });
    const double error =
        MeanOverRows(data, [&](int64_t row) { return std::pow(label(row) - data.at(row, c), 2); });
    if (only >= 0 && c != only) continue;
    const double weight = weighted ? variance : 1;
    sum += weight * (1 - error / variance);
    weights += weight;
  }
  return sum / weights;
}

// Pearson's by the definition of both; Lin's by that of Keras.
double Correlation(const Data& data, bool concordance) {
  const int64_t classes = data.shape[0];
  return MeanOverRows(data, [&](int64_t row) {
    double pp = 0, yy = 0, py = 0, p_sum = 0, y_sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double p = data.at(row, c), y = data.labels[row * classes + c];
      p_sum += p, y_sum += y, pp += p * p, yy += y * y, py += p * y;
    }
    const auto n = static_cast<double>(classes);
    const double p_variance = pp / n - p_sum * p_sum / n / n;
    const double y_variance = yy / n - y_sum * y_sum / n / n;
    const double covariance = py / n - p_sum * y_sum / n / n;
    if (!concordance) return covariance / std::sqrt(p_variance * y_variance);
    return 2 * covariance / (p_variance + y_variance + std::pow((p_sum - y_sum) / n, 2));
  });
}

std::vector<Defined> Scores() {
  std::vector<Defined> scores;
  for (const char* average : {"micro", "macro", "weighted"}) {
    proto::Metric f1 = Config("F1Score"), f2 = Config("FBetaScore");
    f1.set_average(average);
    f1.set_threshold(0.5);
    scores.push_back(
        {f1, false, 3, [=](const Data& data) { return FBeta(data, 1, average, 0.5); }});
    f2.set_average(average);
    f2.set_beta(2);
    f2.set_threshold(0.75);
    scores.push_back(
        {f2, false, 4, [=](const Data& data) { return FBeta(data, 2, average, 0.75); }});
  }
  proto::Metric f1 = Config("F1Score"), r2 = Config("R2Score");
  f1.set_class_id(2);
  f1.set_threshold(0.5);
  scores.push_back({f1, false, 4, [](const Data& data) { return FBeta(data, 1, "2", 0.5); }});
  r2.set_class_id(1);
  scores.push_back({r2, false, 3, [](const Data& data) { return R2(data, false, 1); }});
  proto::Metric weighted = Config("r2_score"), iou = Config("IoU"), binary = Config("BinaryIoU");
  weighted.set_class_aggregation("variance_weighted_average");
  iou.add_target_class_ids(2);
  binary.add_target_class_ids(1);
  binary.set_threshold(0.7);
  const auto overlap = [](double both, double either) { return both / either; };
  scores.push_back({Config("R2Score"), false, 3, [](const Data& d) { return R2(d, false); }});
  scores.push_back({weighted, false, 3, [](const Data& d) { return R2(d, true); }});
  scores.push_back({iou, true, 4, [=](const Data& data) {
                      double both = 0, either = 0;
                      for (int64_t row = 0; row < data.rows; ++row) {
                        const bool p = RankOf(data, row, 2) == 0, y = data.classes[row] == 2;
                        both += p && y, either += p || y;
                      }
                      return overlap(both, either);
                    }});
  scores.push_back({Config("OneHotMeanIoU"), false, 4, MeanIou});
  scores.push_back({binary, false, 1, [=](const Data& data) {
                      const Confused c = Above(data, 0.7);
                      return overlap(c.tp, c.tp + c.fp + c.fn);
                    }});
  scores.push_back({Config("PearsonCorrelation"), false, 5,
                    [](const Data& d) { return Correlation(d, false); }});
  scores.push_back({Config("ConcordanceCorrelation"), false, 5,
                    [](const Data& d) { return Correlation(d, true); }});
  return scores;
}

// The best of one rate where another is high enough.
std::vector<Defined> BestRates() {
  const auto precision = [](const Confused& c) { return Divide(c.tp, c.tp + c.fp); };
  const auto recall = [](const Confused& c) { return Divide(c.tp, c.tp + c.fn); };
  const auto specificity = [](const Confused& c) { return Divide(c.tn, c.tn + c.fp); };
  const auto best = [](auto wanted, auto given) {
    return [=](const Data& data) {
      double result = 0;
      for (int i = 0; i < 200; ++i) {
        // An output of 0 is above the first threshold, as in Keras.
        const Confused c = Above(data, i == 0 ? -1e-7 : i / 199.0);
        if (given(c) >= 0.6) result = std::max(result, wanted(c));
      }
      return result;
    };
  };
  proto::Metric p = Config("PrecisionAtRecall"), r = Config("RecallAtPrecision");
  proto::Metric sensitive = Config("SensitivityAtSpecificity");
  proto::Metric specific = Config("specificity_at_sensitivity");
  p.set_recall(0.6);
  r.set_precision(0.6);
  sensitive.set_specificity(0.6);
  specific.set_sensitivity(0.6);
  return {{p, false, 1, best(precision, recall)},
          {r, false, 1, best(recall, precision)},
          {sensitive, false, 1, best(recall, specificity)},
          {specific, false, 3, best(specificity, recall)}};
}

std::vector<Defined> Errors() {
  const auto squared = MeanOf([](double p, double y) { return (p - y) * (p - y); });
  return {
      {Config("mse"), false, 3, squared},
      {Config("RootMeanSquaredError"), false, 3,
       [squared](const Data& data) { return std::sqrt(squared(data)); }},
      {Config("mean_absolute_error"), false, 1,
       MeanOf([](double p, double y) { return std::fabs(p - y); })},
      // For single numbers, the cosine is the product of their signs.
      {Config("cosine_similarity"), false, 1,
       MeanOf([](double p, double y) { return p != 0 && y != 0; })},
      {Config("MeanIoU"), true, 4, MeanIou},
      {Config("mean_iou"), false, 4, MeanIou},
  };
}

std::vector<Defined> Confusions() {
  proto::Metric at = Config("precision"), class1 = Config("Recall"), top2 = Config("precision");
  proto::Metric top_high = Config("recall");
  at.add_thresholds(0.25);
  class1.set_class_id(1);
  top2.set_top_k(2);
  top_high.set_top_k(2);
  top_high.add_thresholds(0.75);
  const auto precision = [](const Confused& c) { return c.tp / (c.tp + c.fp); };
  const auto recall = [](const Confused& c) { return c.tp / (c.tp + c.fn); };
  const auto top = [](const Data& data, double threshold) {
    return Confuse(data, [&data, threshold](int64_t row, int64_t c) {
      return RankOf(data, row, c) < 2 && data.at(row, c) > threshold;
    });
  };
  return {
      {Config("Precision"), false, 1, [=](const Data& d) { return precision(Above(d, 0.5)); }},
      {Config("recall"), false, 3, [=](const Data& d) { return recall(Above(d, 0.5)); }},
      {at, false, 1, [=](const Data& d) { return precision(Above(d, 0.25)); }},
      {class1, false, 3, [=](const Data& d) { return recall(Above(d, 0.5, 1)); }},
      {top2, false, 5, [=](const Data& d) { return precision(top(d, -1)); }},
      {top_high, false, 5, [=](const Data& d) { return recall(top(d, 0.75)); }},
      {Config("TruePositives"), false, 1, [](const Data& d) { return Above(d, 0.5).tp; }},
      {Config("false_positives"), false, 1, [](const Data& d) { return Above(d, 0.5).fp; }},
      {Config("true_negatives"), false, 3, [](const Data& d) { return Above(d, 0.5).tn; }},
      {Config("false_negatives"), false, 3, [](const Data& d) { return Above(d, 0.5).fn; }},
  };
}

std::vector<Defined> Aucs() {
  std::vector<Defined> aucs = {{Config("AUC"), false, 1, [](const Data& data) {
                                  return Auc(data, 200, false, "interpolation");
                                }}};
  for (const int thresholds : {2, 5, 50}) {
    for (const bool pr : {false, true}) {
      for (const char* summation : {"interpolation", "minoring", "majoring"}) {
        proto::Metric config = Config("auc");
        config.set_num_thresholds(thresholds);
        config.set_curve(pr ? "PR" : "ROC");
        config.set_summation_method(summation);
        aucs.push_back({config, false, 1,
                        [=](const Data& data) { return Auc(data, thresholds, pr, summation); }});
      }
    }
  }
  return aucs;
}

std::vector<Defined> Everything() {
  std::vector<Defined> all = Accuracies();
  for (const auto& family : {Errors(), Confusions(), Aucs(), Scores(), BestRates()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

std::vector<double> StateOf(const Metric& metric, const Data& data, bool sparse, int64_t begin,
                            int64_t end) {
  std::vector<double> state(metric.state_size());
  metric.Accumulate(data.Batch(sparse, begin, end), absl::MakeSpan(state));
  return state;
}

TEST(MetricConformanceTest, EveryMetricIsItsDefinition) {
  for (const Defined& defined : Everything()) {
    const Data data(101, defined.classes, 5);
    const auto metric = CreateMetric(defined.config, *LossFor(defined.sparse), data.shape);
    ASSERT_TRUE(metric.ok()) << metric.status();
    const double value = (*metric)->Result(StateOf(**metric, data, defined.sparse, 0, data.rows));
    EXPECT_NEAR(value, defined.value(data), 1e-6) << defined.config.ShortDebugString();
  }
}

TEST(MetricConformanceTest, StatesOfPartsAddUpToThatOfTheWhole) {
  for (const Defined& defined : Everything()) {
    const Data data(64, defined.classes, 9);
    const auto metric = *CreateMetric(defined.config, *LossFor(defined.sparse), data.shape);
    std::vector<double> sum(metric->state_size());
    for (const auto& [begin, end] : std::vector<std::pair<int, int>>{{0, 1}, {1, 20}, {20, 64}}) {
      const auto part = StateOf(*metric, data, defined.sparse, begin, end);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    const auto result = *CreateMetricResult(defined.config);
    const double whole = metric->Result(StateOf(*metric, data, defined.sparse, 0, 64));
    EXPECT_NEAR(result(sum), whole, 1e-9) << defined.config.ShortDebugString();
  }
}

TEST(MetricConformanceTest, NothingCountedIsZero) {
  for (const Defined& defined : Everything()) {
    const Shape shape = {defined.classes};
    const auto metric = *CreateMetric(defined.config, *LossFor(defined.sparse), shape);
    EXPECT_EQ(metric->Result(std::vector<double>(metric->state_size())), 0)
        << defined.config.ShortDebugString();
  }
}

TEST(MetricConformanceTest, WeightsDoNotMatter) {
  const Data data(10, 3, 1);
  const auto metric = *CreateMetric(Config("mse"), *LossFor(false), data.shape);
  const std::vector<float> weights(10, 7.0f);
  Loss::Batch batch = data.Batch(false, 0, 10);
  batch.weights = weights.data();
  std::vector<double> state(2);
  metric->Accumulate(batch, absl::MakeSpan(state));
  EXPECT_EQ(state, StateOf(*metric, data, false, 0, 10));
}

// A whole weight is that many copies of the example.
TEST(MetricConformanceTest, AWeightedMetricIsThatOfRepeatedExamples) {
  for (const Defined& defined : Everything()) {
    if (defined.config.num_regressors() > 0) continue;
    const Data data(40, defined.classes, 7);
    Data repeated(0, defined.classes, 7);
    std::vector<float> weights;
    for (int64_t row = 0; row < data.rows; ++row) {
      weights.push_back(static_cast<float>(row % 4));
      for (int64_t copy = 0; copy < row % 4; ++copy) {
        for (int64_t c = 0; c < defined.classes; ++c) {
          repeated.output.push_back(data.at(row, c));
          repeated.labels.push_back(data.labels[row * defined.classes + c]);
        }
        repeated.classes.push_back(data.classes[row]);
        ++repeated.rows;
      }
    }
    const auto plain = *CreateMetric(defined.config, *LossFor(defined.sparse), data.shape);
    const auto weighted = CreateMetric(defined.config, *LossFor(defined.sparse), data.shape,
                                       /*weighted=*/true);
    ASSERT_TRUE(weighted.ok()) << weighted.status();
    Loss::Batch batch = data.Batch(defined.sparse, 0, data.rows);
    batch.weights = weights.data();
    std::vector<double> state((*weighted)->state_size());
    (*weighted)->Accumulate(batch, absl::MakeSpan(state));
    EXPECT_NEAR((*weighted)->Result(state),
                plain->Result(StateOf(*plain, repeated, defined.sparse, 0, repeated.rows)), 1e-6)
        << defined.config.ShortDebugString();
    batch.weights = nullptr;
    std::vector<double> without((*weighted)->state_size());
    (*weighted)->Accumulate(batch, absl::MakeSpan(without));
    EXPECT_EQ(without, StateOf(*plain, data, defined.sparse, 0, data.rows));
  }
}

TEST(MetricConformanceTest, AucOfLogitsIsThatOfTheirSigmoids) {
  Data data(200, 1, 3), logits(200, 1, 3);
  for (int64_t i = 0; i < 200; ++i) {
    const float p = std::clamp(data.output[i], 0.01f, 0.99f) + 1e-4f;
    data.output[i] = p;
    logits.output[i] = std::log(p / (1 - p));
  }
  proto::Metric config = Config("auc");
  const auto plain = *CreateMetric(config, *LossFor(false), data.shape);
  config.set_from_logits(true);
  const auto from_logits = *CreateMetric(config, *LossFor(false), data.shape);
  EXPECT_NEAR(plain->Result(StateOf(*plain, data, false, 0, 200)),
              from_logits->Result(StateOf(*from_logits, logits, false, 0, 200)), 1e-3);
}

TEST(MetricConformanceTest, OutputsOutsideOfProbabilitiesAreItsEnds) {
  const Shape shape = {1};
  const float output[] = {-5, 7, std::nanf("")}, labels[] = {0, 1, 0};
  const auto metric = *CreateMetric(Config("auc"), *LossFor(false), shape);
  std::vector<double> state(metric->state_size());
  metric->Accumulate({.examples = 3, .shape = &shape, .output = output, .labels = labels},
                     absl::MakeSpan(state));
  EXPECT_DOUBLE_EQ(metric->Result(state), 1);
}

}  // namespace
}  // namespace cairn::nn
