#include "nn/loss.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

std::unique_ptr<Loss> LossNamed(const std::string& name, bool from_logits = false) {
  proto::Loss config;
  config.set_name(name);
  if (from_logits) config.set_from_logits(true);
  return *CreateLoss(config);
}

// A batch of rows of three.
struct Rows {
  Shape shape = {3};
  std::vector<float> output;
  std::vector<float> labels;
  std::vector<int32_t> classes;

  // If given, `output` is their softmax or their sigmoid.
  std::vector<float> logits = {};
  bool is_softmax = true;

  int64_t examples() const { return static_cast<int64_t>(output.size()) / 3; }
  Loss::Batch batch() const {
    const void* given = classes.empty() ? static_cast<const void*>(labels.data()) : classes.data();
    return {.examples = examples(),
            .shape = &shape,
            .output = output.data(),
            .labels = given,
            .logits = logits.empty() ? nullptr : logits.data(),
            .is_softmax = is_softmax};
  }
};

// `truth` is the batch's mean loss as a function of the outputs, or of the logits if the rows have
// them, in double.
void ExpectLossAndGradient(const Loss& loss, const Rows& rows,
                           const std::function<double(const std::vector<double>&)>& truth) {
  const std::vector<float>& varied = rows.logits.empty() ? rows.output : rows.logits;
  std::vector<double> output(varied.begin(), varied.end());
  std::vector<float> gradient(output.size());
  const absl::StatusOr<double> sum = loss.Compute(rows.batch(), gradient.data());
  ASSERT_TRUE(sum.ok());
  const double mean = truth(output);
  EXPECT_NEAR(*sum / static_cast<double>(rows.examples()), mean, 1e-6 * std::max(1.0, mean));
  for (size_t i = 0; i < output.size(); ++i) {
    const double before = output[i];
    output[i] = before + 1e-6;
    const double above = truth(output);
    output[i] = before - 1e-6;
    const double below = truth(output);
    output[i] = before;
    EXPECT_NEAR(gradient[i], (above - below) / 2e-6, 1e-5) << i;
  }
  EXPECT_EQ(*loss.Compute(rows.batch(), nullptr), *sum);
}

const std::vector<float> kProbabilities = {0.2f, 0.7f, 0.1f, 0.5f, 0.25f, 0.25f};
const std::vector<float> kAnything = {0.2f, -0.7f, 2.1f, 5.5f, -3.25f, 0.3f};
const std::vector<float> kTargets = {0.1f, 0.6f, 0.3f, 1, 0, 0};

double CrossEntropyOfRows(const std::vector<double>& output, const std::vector<float>& targets,
                          bool from_logits) {
  double loss = 0;
  for (int row = 0; row < 2; ++row) {
    double sum = 0;
    for (int c = 0; c < 3; ++c) {
      const double o = output[row * 3 + c];
      sum += from_logits ? std::exp(o) : o;
    }
    for (int c = 0; c < 3; ++c) {
      const double o = output[row * 3 + c];
      loss -= targets[row * 3 + c] * std::log((from_logits ? std::exp(o) : o) / sum);
    }
  }
  return loss / 2;
}

TEST(LossTest, CategoricalCrossentropyIsTheFormula) {
  for (bool logits : {false, true}) {
    const Rows rows{.output = logits ? kAnything : kProbabilities, .labels = kTargets};
    ExpectLossAndGradient(*LossNamed("categorical_crossentropy", logits), rows,
                          [&](const std::vector<double>& output) {
                            return CrossEntropyOfRows(output, kTargets, logits);
                          });
  }
}

TEST(LossTest, SparseCategoricalCrossentropyIsTheFormula) {
  for (bool logits : {false, true}) {
    const Rows rows{.output = logits ? kAnything : kProbabilities, .classes = {2, 0}};
    ExpectLossAndGradient(*LossNamed("sparse_categorical_crossentropy", logits), rows,
                          [&](const std::vector<double>& output) {
                            return CrossEntropyOfRows(output, {0, 0, 1, 1, 0, 0}, logits);
                          });
  }
}

// Keras clips each output, and then normalizes them. A forgotten softmax shows it.
TEST(LossTest, SparseCategoricalCrossentropyClipsBeforeItNormalizes) {
  const std::vector<float> outputs = {0.2f, -0.7f, 2.1f, 0.9f, 0.4f, 0.3f};
  const Rows rows{.output = outputs, .classes = {0, 2}};
  ExpectLossAndGradient(*LossNamed("sparse_categorical_crossentropy"), rows,
                        [](const std::vector<double>& output) {
                          double loss = 0;
                          for (int row = 0; row < 2; ++row) {
                            double sum = 0;
                            for (int c = 0; c < 3; ++c) {
                              sum += std::clamp(output[row * 3 + c], 1e-7, 1 - 1e-7);
                            }
                            loss -= std::log(output[row == 0 ? 0 : 5] / sum);
                          }
                          return loss / 2;
                        });
}

TEST(LossTest, BinaryCrossentropyIsTheFormula) {
  for (bool logits : {false, true}) {
    const Rows rows{.output = logits ? kAnything : kProbabilities, .labels = kTargets};
    ExpectLossAndGradient(
        *LossNamed("binary_crossentropy", logits), rows, [&](const std::vector<double>& output) {
          double loss = 0;
          for (int i = 0; i < 6; ++i) {
            const double p = logits ? 1 / (1 + std::exp(-output[i])) : output[i];
            loss -= kTargets[i] * std::log(p) + (1.0 - kTargets[i]) * std::log(1 - p);
          }
          return loss / 6;
        });
  }
}

TEST(LossTest, SquaredAndAbsoluteErrorsAreTheFormulas) {
  const Rows rows{.output = kAnything, .labels = kTargets};
  for (int power : {1, 2}) {
    ExpectLossAndGradient(*LossNamed(power == 1 ? "mae" : "mean_squared_error"), rows,
                          [&](const std::vector<double>& output) {
                            double loss = 0;
                            for (int i = 0; i < 6; ++i) {
                              loss += std::pow(std::fabs(output[i] - kTargets[i]), power);
                            }
                            return loss / 6;
                          });
  }
}

TEST(LossTest, GeneralizedCrossentropyIsTheFormula) {
  proto::Loss config;
  config.set_name("CategoricalGeneralizedCrossEntropy");
  config.set_q(0.7);
  const Rows rows{.output = kProbabilities, .classes = {2, 0}};
  ExpectLossAndGradient(**CreateLoss(config), rows, [&](const std::vector<double>& output) {
    return (1 - std::pow(output[2], 0.7) + 1 - std::pow(output[3], 0.7)) / 0.7 / 2;
  });
}

TEST(LossTest, AnOverlapIsThatOfTheAxes) {
  const Rows rows{.output = kProbabilities, .labels = kTargets};
  // The overlap of the outputs first, first + step, ...
  const auto dice = [](const std::vector<double>& output, int first, int step, int count) {
    double both = 0, sum = 0;
    for (int i = first, n = 0; n < count; i += step, ++n) {
      both += output[i] * kTargets[i];
      sum += output[i] + kTargets[i];
    }
    return 1 - 2 * both / sum;
  };
  proto::Loss config;
  config.set_name("dice");
  ExpectLossAndGradient(**CreateLoss(config), rows,
                        [&](const std::vector<double>& output) { return dice(output, 0, 1, 6); });
  config.add_axis(0);
  ExpectLossAndGradient(**CreateLoss(config), rows, [&](const std::vector<double>& output) {
    return (dice(output, 0, 3, 2) + dice(output, 1, 3, 2) + dice(output, 2, 3, 2)) / 3;
  });
  config.set_axis(0, 2);
  EXPECT_EQ((*CreateLoss(config))->ValidateShapes({3}, {3}).message(),
            "loss dice: 'axis' has 2; a batch of outputs has the axes 0 to 1");
}

TEST(LossTest, TheCircleLossIsTheFormula) {
  const std::vector<int32_t> classes = {4, 1, 4, 1, 7};
  Rows rows{.output = kAnything, .classes = classes};
  rows.output.insert(rows.output.end(), {0.4f, 0.3f, -0.5f, 0.1f, 0.7f, 0.2f, -0.6f, 0.1f, 0.3f});
  for (float& output : rows.output) output /= 4;
  proto::Loss config;
  config.set_name("Circle");
  config.set_gamma(3);
  config.set_margin(0.25);
  ExpectLossAndGradient(**CreateLoss(config), rows, [&](const std::vector<double>& output) {
    double loss = 0;
    for (int i = 0; i < 4; ++i) {  // The last one is alone in its class.
      double same = 0, others = 0;
      for (int j = 0; j < 5; ++j) {
        double d = 1;
        for (int c = 0; c < 3; ++c) d -= output[i * 3 + c] * output[j * 3 + c];
        d = std::max(d, 0.0);
        if (j == i) continue;
        if (classes[j] == classes[i]) {
          same += std::exp(-3 * (0.25 + d) * (0.25 - d));
        } else {
          others += std::exp(3 * std::max(1.25 - d, 0.0) * (0.75 - d));
        }
      }
      loss += std::log(1 + same * others);
    }
    return loss / 4;
  });
}

TEST(LossTest, AnIgnoredClassIsLeftOutOfTheMean) {
  proto::Loss config;
  config.set_name("sparse_categorical_crossentropy");
  config.set_ignore_class(-1);
  const Rows rows{.output = kProbabilities, .classes = {-1, 1}};
  ExpectLossAndGradient(**CreateLoss(config), rows, [&](const std::vector<double>& output) {
    return -std::log(output[4] / (output[3] + output[4] + output[5]));
  });
  const Rows nothing{.output = kProbabilities, .classes = {-1, -1}};
  ExpectLossAndGradient(**CreateLoss(config), nothing,
                        [](const std::vector<double>&) { return 0.0; });
}

TEST(LossTest, ASumIsThatOfTheBatch) {
  proto::Loss config;
  config.set_name("mse");
  config.set_reduction("sum");
  const Rows rows{.output = kAnything, .labels = kTargets};
  ExpectLossAndGradient(**CreateLoss(config), rows, [&](const std::vector<double>& output) {
    double loss = 0;
    for (int i = 0; i < 6; ++i) loss += std::pow(output[i] - kTargets[i], 2) / 3;
    return loss;
  });
  config.set_reduction("none");
  EXPECT_EQ(
      CreateLoss(config).status().message(),
      "loss mean_squared_error: 'reduction' is 'none'; known: sum_over_batch_size, mean, sum");
  config.set_reduction("sum");
  config.set_name("dice");
  EXPECT_FALSE(CreateLoss(config).ok());
}

std::vector<float> ActivationOf(bool is_softmax, const std::vector<float>& logits) {
  std::vector<float> output;
  for (size_t i = 0; i < logits.size(); ++i) {
    double sum = 0;
    for (size_t c = i / 3 * 3; c < i / 3 * 3 + 3; ++c) sum += std::exp(double{logits[c]});
    output.push_back(static_cast<float>(is_softmax ? std::exp(double{logits[i]}) / sum
                                                   : 1 / (1 + std::exp(-double{logits[i]}))));
  }
  return output;
}

// Also of the other activation, as Keras does, and where the output is 0 or 1. With from_logits the
// loss takes the logits once.
TEST(LossTest, OfASoftmaxOrASigmoidTheCrossentropiesAreThoseOfTheLogits) {
  const std::vector<float> certain = {-60, 45, -300, 120, -90, 0.5f};
  for (bool from_logits : {false, true}) {
    for (bool is_softmax : {false, true}) {
      for (const std::vector<float>& logits : {kAnything, certain}) {
        Rows rows{.output = ActivationOf(is_softmax, logits),
                  .labels = kTargets,
                  .logits = logits,
                  .is_softmax = is_softmax};
        ExpectLossAndGradient(*LossNamed("categorical_crossentropy", from_logits), rows,
                              [](const std::vector<double>& output) {
                                return CrossEntropyOfRows(output, kTargets, true);
                              });
        ExpectLossAndGradient(*LossNamed("binary_crossentropy", from_logits), rows,
                              [](const std::vector<double>& output) {
                                double loss = 0;
                                for (int i = 0; i < 6; ++i) {
                                  // -log of the sigmoid at -x, which is large for large x.
                                  const double x = output[i];
                                  const double to_zero =
                                      std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
                                  loss += to_zero - kTargets[i] * x;
                                }
                                return loss / 6;
                              });
        rows.classes = {2, 0};
        ExpectLossAndGradient(*LossNamed("sparse_categorical_crossentropy", from_logits), rows,
                              [](const std::vector<double>& output) {
                                return CrossEntropyOfRows(output, {0, 0, 1, 1, 0, 0}, true);
                              });
      }
    }
  }
}

TEST(LossTest, AWeightedExampleCostsAndPullsAccordingly) {
  const float weights[] = {3, 0.5f};
  for (const char* name : {"sparse_categorical_crossentropy", "categorical_crossentropy",
                           "binary_crossentropy", "mse", "mae"}) {
    const std::unique_ptr<Loss> loss = LossNamed(name);
    Rows rows{.output = kProbabilities, .labels = kTargets};
    if (loss->label_type() == proto::INT32) rows.classes = {2, 0};
    std::vector<float> plain(6), weighted(6);
    Loss::Batch first = rows.batch();
    first.examples = 1;
    const double both = *loss->Compute(rows.batch(), plain.data());
    const double one = *loss->Compute(first, nullptr);
    Loss::Batch batch = rows.batch();
    batch.weights = weights;
    batch.gradient_scale = 2;
    EXPECT_NEAR(*loss->Compute(batch, weighted.data()), 3 * one + 0.5 * (both - one), 1e-6) << name;
    for (int i = 0; i < 6; ++i) {
      EXPECT_NEAR(weighted[i], 2 * weights[i / 3] * plain[i], 1e-6) << name << " " << i;
    }
  }
}

TEST(LossTest, CertainMistakesCostFinitely) {
  const Rows rows{.output = {1, 0, 0, 0, 1, 0}, .classes = {2, 0}};
  const double sum = *LossNamed("sparse_categorical_crossentropy")->Compute(rows.batch(), nullptr);
  EXPECT_NEAR(sum / 2, -std::log(1e-7), 1e-3);
}

TEST(LossTest, AClassThatTheOutputLacksIsRefused) {
  for (int32_t label : {3, -1}) {
    const Rows rows{.output = kProbabilities, .classes = {0, label}};
    const absl::Status status =
        LossNamed("sparse_categorical_crossentropy")->Compute(rows.batch(), nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(std::to_string(label)), absl::string_view::npos) << status;
  }
}

TEST(LossTest, LabelsMustFitTheOutput) {
  const std::unique_ptr<Loss> sparse = LossNamed("sparse_categorical_crossentropy");
  EXPECT_TRUE(sparse->ValidateShapes({10}, {}).ok());
  EXPECT_TRUE(sparse->ValidateShapes({10}, {1}).ok());
  EXPECT_TRUE(sparse->ValidateShapes({4, 10}, {4}).ok());
  EXPECT_FALSE(sparse->ValidateShapes({10}, {10}).ok());
  EXPECT_FALSE(sparse->ValidateShapes({1}, {}).ok());
  EXPECT_EQ(sparse->LabelCount({4, 10}), 4);

  const std::unique_ptr<Loss> mse = LossNamed("mse");
  EXPECT_TRUE(mse->ValidateShapes({1}, {}).ok());
  EXPECT_TRUE(mse->ValidateShapes({2}, {2}).ok());
  EXPECT_FALSE(mse->ValidateShapes({2}, {}).ok());
  EXPECT_EQ(mse->LabelCount({4, 10}), 40);
}

TEST(LossTest, WhatIsUnknownIsRefusedByName) {
  proto::Loss config;
  config.set_name("mean_square_error");
  const std::string unknown(CreateLoss(config).status().message());
  EXPECT_NE(unknown.find("unknown loss 'mean_square_error'; did you mean 'mean_squared_error'? "
                         "known: sparse_categorical_crossentropy, "),
            std::string::npos)
      << unknown;
  config.set_name("mse");
  config.set_from_logits(false);
  EXPECT_EQ(CreateLoss(config).status().message(),
            "loss mean_squared_error: unknown argument 'from_logits'; known: reduction");
}

TEST(LossTest, ValuesOutOfRangeAreRefused) {
  proto::Loss config;
  config.set_name("categorical_crossentropy");
  config.set_label_smoothing(1.5);
  EXPECT_EQ(CreateLoss(config).status().message(),
            "loss categorical_crossentropy: 'label_smoothing' is 1.5; it must be from 0 to 1");
  config.Clear();
  config.set_name("huber");
  config.set_delta(0);
  EXPECT_EQ(CreateLoss(config).status().message(),
            "loss huber: 'delta' is 0; it must be finite and greater than 0");
}

TEST(LossTest, KerasClassesAndShortFormsAreNamesToo) {
  for (const char* name : {"MeanSquaredError", "mse", "mean_squared_error"}) {
    EXPECT_EQ(LossNamed(name)->name(), "mean_squared_error");
  }
  EXPECT_EQ(LossNamed("KLDivergence")->name(), "kl_divergence");
  EXPECT_EQ(LossNamed("bce")->name(), "binary_crossentropy");
}

}  // namespace
}  // namespace cairn::nn
