#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "common/random.h"
#include "nn/loss.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

using Row = std::vector<double>;

// A loss and its published formula in plain double precision, for one row of the last axis. Losses
// that are means over all elements divide by the row's size here.
struct PublishedLoss {
  proto::Loss config;
  std::function<double(const Row& output, const Row& label)> row;
  // The form of outputs and labels.
  enum class Numbers {
    kAny,
    kPositive,
    kProbabilities,
    kSides
  } output = Numbers::kAny,
    labels = Numbers::kAny;
};

using Numbers = PublishedLoss::Numbers;

proto::Loss Config(const std::string& name, bool from_logits = false, double smoothing = 0) {
  proto::Loss config;
  config.set_name(name);
  if (from_logits) config.set_from_logits(true);
  if (smoothing > 0) config.set_label_smoothing(smoothing);
  return config;
}

PublishedLoss MeanOf(const proto::Loss& config, const std::function<double(double, double)>& term,
                     Numbers output = Numbers::kAny, Numbers labels = Numbers::kAny) {
  return {config,
          [term](const Row& p, const Row& y) {
            double sum = 0;
            for (size_t c = 0; c < p.size(); ++c) sum += term(p[c], y[c]);
            return sum / static_cast<double>(p.size());
          },
          output, labels};
}

PublishedLoss Categorical(bool from_logits, double smoothing) {
  const auto row = [=](const Row& p, const Row& y) {
    double total = 0, loss = 0;
    for (double x : p) total += from_logits ? std::exp(x) : x;
    for (size_t c = 0; c < p.size(); ++c) {
      const double target = y[c] * (1 - smoothing) + smoothing / static_cast<double>(p.size());
      loss -= target * std::log((from_logits ? std::exp(p[c]) : p[c]) / total);
    }
    return loss;
  };
  return {Config("categorical_crossentropy", from_logits, smoothing), row,
          from_logits ? Numbers::kAny : Numbers::kProbabilities, Numbers::kProbabilities};
}

PublishedLoss Binary(bool from_logits, double smoothing) {
  return MeanOf(
      Config("binary_crossentropy", from_logits, smoothing),
      [=](double x, double y) {
        const double p = from_logits ? 1 / (1 + std::exp(-x)) : x;
        const double target = y * (1 - smoothing) + smoothing / 2;
        return -target * std::log(p) - (1 - target) * std::log(1 - p);
      },
      from_logits ? Numbers::kAny : Numbers::kProbabilities, Numbers::kProbabilities);
}

PublishedLoss Huber(double delta) {
  proto::Loss config = Config("Huber");
  if (delta != 1) config.set_delta(delta);
  return MeanOf(config, [delta](double p, double y) {
    const double d = std::fabs(p - y);
    return d <= delta ? d * d / 2 : delta * d - delta * delta / 2;
  });
}

PublishedLoss CategoricalFocal(bool from_logits, double alpha, double gamma, double smoothing) {
  proto::Loss config = Config("CategoricalFocalCrossentropy", from_logits, smoothing);
  config.set_alpha(alpha);
  config.set_gamma(gamma);
  const auto row = [=](const Row& outputs, const Row& y) {
    double total = 0, loss = 0;
    for (double x : outputs) total += from_logits ? std::exp(x) : x;
    for (size_t c = 0; c < y.size(); ++c) {
      const double p = (from_logits ? std::exp(outputs[c]) : outputs[c]) / total;
      const double target = y[c] * (1 - smoothing) + smoothing / static_cast<double>(y.size());
      loss -= alpha * std::pow(1 - p, gamma) * target * std::log(p);
    }
    return loss;
  };
  return {config, row, from_logits ? Numbers::kAny : Numbers::kProbabilities,
          Numbers::kProbabilities};
}

PublishedLoss BinaryFocal(bool from_logits, bool balances, double gamma) {
  proto::Loss config = Config("BinaryFocalCrossentropy", from_logits);
  if (balances) config.set_apply_class_balancing(true);
  config.set_gamma(gamma);
  return MeanOf(
      config,
      [=](double x, double y) {
        const double p = from_logits ? 1 / (1 + std::exp(-x)) : x;
        const double right = y * p + (1 - y) * (1 - p);
        const double balance = balances ? y * 0.25 + (1 - y) * 0.75 : 1;
        return -balance * std::pow(1 - right, gamma) *
               (y * std::log(p) + (1 - y) * std::log(1 - p));
      },
      from_logits ? Numbers::kAny : Numbers::kProbabilities, Numbers::kProbabilities);
}

// The overlap along the last axis.
PublishedLoss Tversky(const char* name, double alpha, double beta) {
  proto::Loss config = Config(name);
  config.add_axis(-1);
  if (alpha != 0.5) config.set_alpha(alpha);
  if (beta != 0.5) config.set_beta(beta);
  const auto row = [=](const Row& p, const Row& y) {
    double both = 0, only_labels = 0, only_outputs = 0;
    for (size_t c = 0; c < p.size(); ++c) {
      both += y[c] * p[c];
      only_labels += (1 - p[c]) * y[c];
      only_outputs += p[c] * (1 - y[c]);
    }
    return 1 - both / (both + alpha * only_labels + beta * only_outputs);
  };
  return {config, row, Numbers::kProbabilities, Numbers::kProbabilities};
}

double Norm(const Row& row) {
  double sum = 0;
  for (double x : row) sum += x * x;
  return std::sqrt(sum);
}

std::vector<PublishedLoss> PublishedLosses() {
  return {
      Categorical(false, 0),
      Categorical(false, 0.2),
      Categorical(true, 0),
      Categorical(true, 0.1),
      Binary(false, 0),
      Binary(false, 0.2),
      Binary(true, 0),
      Binary(true, 0.3),
      CategoricalFocal(false, 0.25, 2, 0),
      CategoricalFocal(false, 0.7, 0.5, 0.2),
      CategoricalFocal(true, 0.3, 3.5, 0.1),
      BinaryFocal(false, false, 2),
      BinaryFocal(false, true, 0.5),
      BinaryFocal(true, true, 3),
      Tversky("dice", 0.5, 0.5),
      Tversky("Tversky", 0.3, 0.6),
      Huber(1),
      Huber(0.25),
      MeanOf(Config("mse"), [](double p, double y) { return (p - y) * (p - y); }),
      MeanOf(Config("MeanAbsoluteError"), [](double p, double y) { return std::fabs(p - y); }),
      MeanOf(Config("mape"), [](double p, double y) { return 100 * std::fabs((y - p) / y); }),
      MeanOf(
          Config("msle"),
          [](double p, double y) { return std::pow(std::log(p + 1) - std::log(y + 1), 2); },
          Numbers::kPositive, Numbers::kPositive),
      MeanOf(Config("logcosh"), [](double p, double y) { return std::log(std::cosh(p - y)); }),
      MeanOf(
          Config("poisson"), [](double p, double y) { return p - y * std::log(p); },
          Numbers::kPositive, Numbers::kPositive),
      MeanOf(
          Config("hinge"), [](double p, double y) { return std::max(1 - y * p, 0.0); },
          Numbers::kAny, Numbers::kSides),
      MeanOf(
          Config("SquaredHinge"),
          [](double p, double y) { return std::pow(std::max(1 - y * p, 0.0), 2); }, Numbers::kAny,
          Numbers::kSides),
      MeanOf(Config("wasserstein"), [](double p, double y) { return y * p; }),
      {Config("categorical_hinge"),
       [](const Row& p, const Row& y) {
         double right = 0, wrong = -1e300;
         for (size_t c = 0; c < p.size(); ++c) {
           right += y[c] * p[c];
           wrong = std::max(wrong, (1 - y[c]) * p[c]);
         }
         return std::max(wrong - right + 1, 0.0);
       },
       Numbers::kAny, Numbers::kProbabilities},
      {Config("KLDivergence"),
       [](const Row& p, const Row& y) {
         double sum = 0;
         for (size_t c = 0; c < p.size(); ++c) sum += y[c] * std::log(y[c] / p[c]);
         return sum;
       },
       Numbers::kProbabilities, Numbers::kProbabilities},
      {Config("cosine_similarity"),
       [](const Row& p, const Row& y) {
         double product = 0;
         for (size_t c = 0; c < p.size(); ++c) product += p[c] * y[c];
         return -product / (Norm(p) * Norm(y));
       }},
  };
}

std::vector<float> Draw(Numbers numbers, uint64_t key, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    const float u = RandomUniform(key, i);
    switch (numbers) {
      case Numbers::kAny:
        values.push_back(4 * u - 2);
        break;
      case Numbers::kPositive:
        values.push_back(3 * u + 0.1f);
        break;
      case Numbers::kProbabilities:
        values.push_back(0.05f + 0.9f * u);
        break;
      case Numbers::kSides:
        values.push_back(u < 0.5f ? -1.0f : 1.0f);
        break;
    }
  }
  values[0] = numbers == Numbers::kSides ? -1.0f : values[0];
  return values;
}

// The batch's weighted sum of losses, row by row.
double Truth(const PublishedLoss& loss, const Row& output, const std::vector<float>& labels,
             const std::vector<float>& weights, const Shape& shape) {
  const int64_t classes = shape.back(), positions = ElementCount(shape) / classes;
  double sum = 0;
  for (size_t row = 0; row * classes < output.size(); ++row) {
    const Row p(output.begin() + row * classes, output.begin() + (row + 1) * classes);
    const Row y(labels.begin() + row * classes, labels.begin() + (row + 1) * classes);
    sum += weights[row / positions] * loss.row(p, y) / static_cast<double>(positions);
  }
  return sum;
}

void ExpectLossAndGradient(const PublishedLoss& published, const Shape& shape, int64_t examples) {
  const std::unique_ptr<Loss> loss = *CreateLoss(published.config);
  const std::string what = published.config.ShortDebugString() + " " + ShapeText(shape);
  const int64_t count = examples * ElementCount(shape);
  const std::vector<float> output = Draw(published.output, 1, count);
  const std::vector<float> labels = Draw(published.labels, 2, count);
  const std::vector<float> weights = Draw(Numbers::kPositive, 3, examples);
  Row exact(output.begin(), output.end());
  std::vector<float> gradient(count);
  const Loss::Batch batch{.examples = examples,
                          .shape = &shape,
                          .output = output.data(),
                          .labels = labels.data(),
                          .weights = weights.data()};
  const double sum = *loss->Compute(batch, gradient.data());
  EXPECT_EQ(*loss->Compute(batch, nullptr), sum) << what;
  const double truth = Truth(published, exact, labels, weights, shape);
  EXPECT_NEAR(sum, truth, 1e-5 * std::max(1.0, std::fabs(truth))) << what;
  for (int64_t i = 0; i < count; ++i) {
    constexpr double kStep = 1e-6;
    exact[i] = output[i] + kStep;
    const double above = Truth(published, exact, labels, weights, shape);
    exact[i] = output[i] - kStep;
    const double below = Truth(published, exact, labels, weights, shape);
    exact[i] = output[i];
    const double slope = (above - below) / (2 * kStep) / static_cast<double>(examples);
    ASSERT_NEAR(gradient[i], slope, 1e-4 * std::max(1.0, std::fabs(slope))) << what << " " << i;
  }
}

TEST(LossConformanceTest, EveryLossIsItsFormulaAndItsGradientTheSlope) {
  for (const PublishedLoss& loss : PublishedLosses()) {
    for (const Shape& shape : {Shape{3}, Shape{10}, Shape{2, 17}, Shape{3, 1, 5}}) {
      for (int64_t examples : {1, 7}) ExpectLossAndGradient(loss, shape, examples);
    }
  }
}

TEST(LossConformanceTest, LossesOverElementsTakeOneOutput) {
  for (const PublishedLoss& loss : PublishedLosses()) {
    if (!(*CreateLoss(loss.config))->ValidateShapes({1}, {}).ok()) continue;
    ExpectLossAndGradient(loss, {1}, 5);
  }
}

TEST(LossConformanceTest, AHingeTakesZerosForTheNegativeSideIfThereAreOnlyZerosAndOnes) {
  const Shape shape = {2};
  const float output[] = {0.5f, 0.125f}, zeros[] = {0, 1}, sides[] = {-1, 1}, mixed[] = {0, -1};
  for (const char* name : {"hinge", "squared_hinge"}) {
    const std::unique_ptr<Loss> loss = *CreateLoss(Config(name));
    const auto compute = [&](const float* labels) {
      return *loss->Compute({.examples = 1, .shape = &shape, .output = output, .labels = labels},
                            nullptr);
    };
    EXPECT_EQ(compute(zeros), compute(sides)) << name;
    EXPECT_NE(compute(mixed), compute(sides)) << name;
  }
}

TEST(LossConformanceTest, ExtremeOutputsCostFinitely) {
  const Shape shape = {3};
  const float output[] = {0, 1e4f, 1}, labels[] = {1, 0, 0};
  for (const PublishedLoss& published : PublishedLosses()) {
    const std::unique_ptr<Loss> loss = *CreateLoss(published.config);
    float gradient[3];
    const auto sum = loss->Compute(
        {.examples = 1, .shape = &shape, .output = output, .labels = labels}, gradient);
    EXPECT_TRUE(std::isfinite(*sum)) << published.config.ShortDebugString();
    for (float g : gradient) EXPECT_TRUE(std::isfinite(g)) << published.config.ShortDebugString();
  }
}

TEST(LossConformanceTest, ZeroVectorsHaveNoDirection) {
  const Shape shape = {2};
  const float zeros[] = {0, 0}, ones[] = {1, 1};
  const std::unique_ptr<Loss> loss = *CreateLoss(Config("cosine_similarity"));
  float gradient[2];
  EXPECT_EQ(
      *loss->Compute({.examples = 1, .shape = &shape, .output = zeros, .labels = ones}, gradient),
      0);
  EXPECT_TRUE(std::isfinite(gradient[0]));
}

}  // namespace
}  // namespace cairn::nn
