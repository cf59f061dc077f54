#include "nn/executor.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "job/job_objective.h"
#include "nn/create_device.h"
#include "proto/job.pb.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

std::unique_ptr<Loss> LossNamed(const std::string& name, bool is_sum = false) {
  proto::Loss config;
  config.set_name(name);
  if (is_sum) config.set_reduction("sum");
  return *CreateLoss(config);
}

class ExecutorTest : public ::testing::Test {
 protected:
  std::unique_ptr<Executor> CreateFor(const std::vector<TestLayer>& layers, const std::string& loss,
                                      int64_t batch_size, bool training = true) {
    model_ = ModelOf(layers);
    if (!loss.empty()) objective_ = Objective(LossNamed(loss));
    return *Executor::Create(model_.get(), &objective_,
                             {.batch_size = batch_size, .training = training}, device_.get());
  }

  std::unique_ptr<Device> device_ = *CreateDevice("cpu");
  std::unique_ptr<Model> model_;
  Objective objective_;
};

const TestLayer kOne = {"input", "InputLayer", R"({"batch_shape": [null, 1]})"};

// End-to-end tests that count batches by a weight's value rely on this.
TEST_F(ExecutorTest, AWeightThatOnlyCountsHasAGradientOfExactlyOne) {
  const auto executor = CreateFor({kOne, {"count", "Dense", R"({"units": 1, "use_bias": false})"}},
                                  "mean_absolute_error", 128);
  for (int64_t size = 1; size <= 128; ++size) {
    const std::vector<float> ones(size, 1);
    const std::vector<float> labels(size, -1e9f);
    ASSERT_TRUE(executor
                    ->Forward({.size = size, .inputs = {ones.data()}, .labels = {labels.data()}},
                              /*training=*/true)
                    .ok());
    EXPECT_TRUE(executor->Backward([](int) {}).ok());
    if (executor->gradient(0)[0] != 1) ADD_FAILURE() << "batch of " << size;
  }
}

// The loss is |w - label| with the derivative 1, so the gradient of the sum is the number of terms.
TEST_F(ExecutorTest, TheGradientOfASumIsThatOfItsTermsForEveryBatchSize) {
  model_ = ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 3, 1]})"},
                    {"count", "Dense", R"({"units": 1, "use_bias": false})"}});
  objective_ = Objective(LossNamed("mean_absolute_error", /*is_sum=*/true));
  const auto executor = *Executor::Create(model_.get(), &objective_,
                                          {.batch_size = 40, .training = true}, device_.get());
  for (int64_t size = 1; size <= 40; ++size) {
    const std::vector<float> ones(3 * size, 1);
    const std::vector<float> labels(3 * size, -1);
    const auto results = executor->Forward(
        {.size = size, .inputs = {ones.data()}, .labels = {labels.data()}}, /*training=*/true);
    ASSERT_TRUE(results.ok());
    // A report divides it by the number of examples.
    EXPECT_FLOAT_EQ(results->loss_sum, 3 * size * size);
    EXPECT_TRUE(executor->Backward([](int) {}).ok());
    EXPECT_FLOAT_EQ(executor->gradient(0)[0], 3 * size) << "batch of " << size;
  }
}

// ------------------------------------------------------------------------- several outputs

// Compares training two outputs with training each one alone.
class OutputsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kExamples = 3;

  struct Result {
    Executor::BatchResults sums;
    std::map<std::string, std::vector<float>> gradients;  // By variable.
  };

  static float Wave(size_t seed, size_t i) { return std::sin(0.7f * seed + 1.3f * i); }

  // `job` has losses, weights and metrics. The labels of output i are labels_[label_of[i]].
  Result Train(const std::vector<std::string>& outputs, const proto::Job& job,
               const std::vector<int>& label_of) {
    const std::unique_ptr<Model> model = ModelOf(UsedBy(outputs), outputs);
    const Objective objective = *job::CreateObjective(job, *model);
    const auto executor =
        *Executor::Create(model.get(), &objective, {.batch_size = kExamples}, device_.get());
    for (size_t v = 0; v < model->variables().size(); ++v) {
      const size_t seed = model->variables()[v].name[0];
      for (size_t i = 0; i < executor->values(v).size(); ++i) {
        executor->values(v)[i] = 0.5f * Wave(seed, i);
      }
    }
    std::vector<float> x;
    for (size_t i = 0; i < kExamples * 4; ++i) x.push_back(Wave(1, i));
    Executor::Batch batch{.size = kExamples, .inputs = {x.data()}};
    for (int label : label_of) {
      batch.labels.push_back(label == 0 ? static_cast<const void*>(kinds_.data()) : sizes_.data());
    }
    batch.weights = weights_.data();
    Result result{.sums = *executor->Forward(batch, true)};
    EXPECT_TRUE(executor
                    ->Backward([&](int variable) {
                      const auto gradient = executor->gradient(variable);
                      result.gradients[model->variables()[variable].name].assign(gradient.begin(),
                                                                                 gradient.end());
                    })
                    .ok());
    return result;
  }

  // "kind" is a softmax over 3 classes, and "size" is computed from it: one output depends on the
  // other.
  static std::vector<TestLayer> UsedBy(const std::vector<std::string>& outputs) {
    std::vector<TestLayer> layers = {{"x", "InputLayer", R"({"batch_shape": [null, 4]})"},
                                     {"stem", "Dense", R"({"units": 5, "activation": "tanh"})"},
                                     {"kind", "Dense", R"({"units": 3, "activation": "softmax"})"}};
    if (outputs.back() != "size") return layers;
    layers.push_back({"view", "Reshape", R"({"target_shape": [3, 1]})"});
    layers.push_back({"flat", "Flatten"});
    layers.push_back({"size", "Dense", R"({"units": 2})"});
    return layers;
  }

  static proto::Job JobOf(const std::vector<std::pair<std::string, double>>& losses) {
    proto::Job job;
    for (const auto& [loss, weight] : losses) {
      proto::TrainedOutput* output = job.add_outputs();
      output->mutable_loss()->set_name(loss);
      output->set_loss_weight(weight);
    }
    return job;
  }

  std::unique_ptr<Device> device_ = *CreateDevice("cpu");
  const std::vector<int32_t> kinds_ = {2, 0, 1};
  std::vector<float> sizes_ = {1, -1, 0.5, 2, 0, 3};
  const std::vector<float> weights_ = {1, 0.5, 2};
};

constexpr char kKindLoss[] = "sparse_categorical_crossentropy";

TEST_F(OutputsTest, GradientsAreTheWeightedSumOfEachOutputsOwn) {
  const Result both =
      Train({"kind", "size"}, JobOf({{kKindLoss, 0.75}, {"mean_squared_error", 2}}), {0, 1});
  const Result kind = Train({"kind"}, JobOf({{kKindLoss, 1}}), {0});
  const Result size = Train({"size"}, JobOf({{"mean_squared_error", 1}}), {1});
  EXPECT_NEAR(both.sums.loss_sum, 0.75 * kind.sums.loss_sum + 2 * size.sums.loss_sum, 1e-6);
  ASSERT_EQ(both.gradients.size(), 6u);
  for (const auto& [name, gradient] : both.gradients) {
    for (size_t i = 0; i < gradient.size(); ++i) {
      const auto of = [&](const Result& result) {
        const auto found = result.gradients.find(name);
        return found == result.gradients.end() ? 0.0f : found->second[i];
      };
      EXPECT_NEAR(gradient[i], 0.75f * of(kind) + 2 * of(size), 1e-6) << name << " " << i;
    }
  }
}

TEST_F(OutputsTest, TheLossIsNotFiniteIfThatOfAnyOutputIsNot) {
  const std::vector<int> both = {0, 1};
  const proto::Job job = JobOf({{kKindLoss, 1}, {"mean_squared_error", 0}});
  EXPECT_TRUE(std::isfinite(Train({"kind", "size"}, job, both).sums.loss_sum));
  sizes_[3] = std::nanf("");
  EXPECT_TRUE(std::isnan(Train({"kind", "size"}, job, both).sums.loss_sum));
}

TEST_F(OutputsTest, MetricsAreOfTheirOutput) {
  proto::Job job = JobOf({{kKindLoss, 0.75}, {"mean_squared_error", 2}});
  const auto add = [&job](const std::string& name, uint32_t output) {
    proto::MetricArguments* more = job.add_metric_arguments();
    more->set_index(job.metrics_size());
    more->set_output(output);
    more->mutable_metric()->set_name(name);
    job.add_metrics(name);
  };
  add("loss", 1);
  add("loss", 0);
  add("mean_absolute_error", 1);
  add("accuracy", 0);
  const Result both = Train({"kind", "size"}, job, {0, 1});
  const auto& states = both.sums.metrics;
  ASSERT_EQ(states.size(), 4u);
  // Each output's own loss, without its weight in the model's loss.
  EXPECT_NEAR(both.sums.loss_sum, 0.75 * states[1][0] + 2 * states[0][0], 1e-9);
  EXPECT_EQ(states[0][1], kExamples);
  EXPECT_EQ(states[3][1], kExamples);
  const Result size = Train({"size"}, JobOf({{"mean_squared_error", 1}}), {1});
  EXPECT_NEAR(states[0][0], size.sums.loss_sum, 1e-6);
}

TEST_F(OutputsTest, WhatHasNothingToTrainNeedsNoGradient) {
  const std::unique_ptr<Model> model =
      ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 1]})"},
               {"fixed", "Dense", R"({"units": 1, "trainable": false})", {"x"}},
               {"free", "Dense", R"({"units": 1})", {"x"}}},
              {"fixed", "free"});
  const Objective objective = *job::CreateObjective(JobOf({{"mse", 1}, {"mse", 1}}), *model);
  const auto executor =
      *Executor::Create(model.get(), &objective, {.batch_size = 1}, device_.get());
  const float one[] = {1};
  const auto sums = executor->Forward({.size = 1, .inputs = {one}, .labels = {one, one}}, true);
  ASSERT_TRUE(sums.ok());
  EXPECT_EQ(sums->loss_sum, 2);
  std::vector<int> order;
  EXPECT_TRUE(executor->Backward([&](int variable) { order.push_back(variable); }).ok());
  EXPECT_EQ(order, std::vector<int>({2, 3}));
}

// ------------------------------------------------------------------------- one output

TEST_F(ExecutorTest, PenaltyIsToldApartFromTheLoss) {
  const auto executor =
      CreateFor({kOne, {"d", "Dense", R"({"units": 1, "kernel_regularizer": "l2"})"}}, "mse", 2);
  executor->values(0)[0] = 3;
  const float ones[] = {1, 1};
  const float labels[] = {2, 1};
  const absl::StatusOr<Executor::BatchResults> sums =
      executor->Forward({.size = 2, .inputs = {ones}, .labels = {labels}}, /*training=*/true);
  ASSERT_TRUE(sums.ok());
  EXPECT_EQ(sums->examples, 2);
  EXPECT_DOUBLE_EQ(sums->loss_sum, 1 + 4);
  EXPECT_NEAR(sums->penalty, 0.09, 1e-9);
}

// The derivative of the loss is fused with that of the activation unless the output has a penalty.
TEST_F(ExecutorTest, ThePenaltyOfAnOutputIsPartOfEachExamplesLoss) {
  const auto executor =
      CreateFor({kOne, {"y", "Dense", R"({"units": 1, "use_bias": false, "activation": "sigmoid",
                   "activity_regularizer": {"class_name": "L1L2", "config": {"l1": 0.5, "l2": 2}}})"}},
                "binary_crossentropy", 4);
  executor->values(0)[0] = 0.7f;
  const std::vector<float> x = {1, -2, 0.5};
  const std::vector<float> labels = {1, 0, 0};
  const auto sums = executor->Forward({.size = 3, .inputs = {x.data()}, .labels = {labels.data()}},
                                      /*training=*/true);
  ASSERT_TRUE(sums.ok());
  ASSERT_TRUE(executor->Backward([](int) {}).ok());
  double loss = 0;
  double gradient = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = 1 / (1 + std::exp(-0.7 * x[i]));
    loss += -std::log(labels[i] == 1 ? y : 1 - y) + 0.5 * y + 2 * y * y;
    gradient += ((y - labels[i]) + (0.5 + 4 * y) * y * (1 - y)) * x[i] / 3;
  }
  EXPECT_NEAR(sums->loss_sum, loss, 1e-5);
  EXPECT_EQ(sums->penalty, 0);
  EXPECT_NEAR(executor->gradient(0)[0], gradient, 1e-6);
}

TEST_F(ExecutorTest, WhatIsFrozenCostsNoPenaltyAndHasNoGradient) {
  const auto executor = CreateFor(
      {kOne, {"d", "Dense", R"({"units": 1, "kernel_regularizer": "l2", "trainable": false})"}},
      "mse", 2);
  executor->values(0)[0] = 3;
  const float ones[] = {1, 1};
  EXPECT_EQ(executor->Forward({.size = 2, .inputs = {ones}, .labels = {ones}}, true)->penalty, 0);
  EXPECT_TRUE(executor->Backward([](int variable) { ADD_FAILURE() << variable; }).ok());
  EXPECT_TRUE(executor->gradient(0).empty());
}

TEST_F(ExecutorTest, GradientsArriveFromTheLastLayerToTheFirst) {
  const auto executor = CreateFor({kOne,
                                   {"a", "Dense", R"({"units": 2})"},
                                   {"b", "BatchNormalization"},
                                   {"c", "Dense", R"({"units": 1})"}},
                                  "mse", 4);
  const float ones[] = {1, 1, 1, 1};
  ASSERT_TRUE(executor->Forward({.size = 4, .inputs = {ones}, .labels = {ones}}, true).ok());
  std::vector<int> order;
  EXPECT_TRUE(executor->Backward([&](int variable) { order.push_back(variable); }).ok());
  EXPECT_EQ(order, std::vector<int>({6, 7, 2, 3, 4, 5, 0, 1}));
}

TEST_F(ExecutorTest, AStepReportsTheResultsAndThenTheGradientsThatAreWanted) {
  const auto executor = CreateFor({kOne, {"d", "Dense", R"({"units": 1})"}}, "mse", 2);
  const float ones[] = {1, 1};
  const float labels[] = {3, 1};
  for (const bool wanted : {true, false}) {
    std::vector<int> order;
    const absl::Status status = executor->Step(
        {.size = 2, .inputs = {ones}, .labels = {labels}},
        [&](const Executor::BatchResults& results) {
          EXPECT_TRUE(order.empty());
          EXPECT_EQ(results.examples, 2);
          EXPECT_DOUBLE_EQ(results.loss_sum, 9 + 1);
          return wanted;
        },
        [&](int variable) {
          order.push_back(variable);
          EXPECT_FLOAT_EQ(executor->gradient(variable)[0], -4);
        });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(order, wanted ? std::vector<int>({0, 1}) : std::vector<int>());
  }
}

TEST_F(ExecutorTest, MovingStatisticsAreTheBatchsMeanAndBiasedVariance) {
  const auto executor = CreateFor({kOne, {"norm", "BatchNormalization"}}, "mse", 4);
  const float values[] = {1, 2, 3, 6};
  ASSERT_TRUE(executor->Forward({.size = 4, .inputs = {values}, .labels = {values}}, true).ok());
  EXPECT_TRUE(executor->Backward([](int) {}).ok());
  EXPECT_FLOAT_EQ(executor->gradient(2)[0], 3);
  EXPECT_FLOAT_EQ(executor->gradient(3)[0], (4 + 1 + 0 + 9) / 4.0f);
}

TEST_F(ExecutorTest, DropoutDependsOnTheKeyAlone) {
  const auto executor = CreateFor({{"input", "InputLayer", R"({"batch_shape": [null, 10000]})"},
                                   {"drop", "Dropout", R"({"rate": 0.25})"}},
                                  "", 1);
  const std::vector<float> ones(10000, 1);
  const auto output = [&](uint64_t key, bool training) {
    Executor::Batch batch{.size = 1, .inputs = {ones.data()}, .random_key = key};
    EXPECT_TRUE(executor->Forward(batch, training).ok());
    return std::vector<float>(executor->output()->begin(), executor->output()->end());
  };
  const std::vector<float> first = output(1, true);
  EXPECT_EQ(first, output(1, true));
  EXPECT_NE(first, output(2, true));
  EXPECT_EQ(output(1, false), ones);
  int64_t dropped = 0;
  for (float value : first) {
    dropped += value == 0;
    EXPECT_FLOAT_EQ(value, value == 0 ? 0 : 1 / 0.75f);
  }
  // Four standard deviations.
  EXPECT_NEAR(dropped / 10000.0, 0.25, 4 * std::sqrt(0.25 * 0.75 / 10000));
}

TEST_F(ExecutorTest, BatchesOfManySizesReuseTheSameExecutor) {
  const auto executor = CreateFor({kOne, {"d", "Dense", R"({"units": 1})"}}, "", 9, false);
  executor->values(0)[0] = 2;
  executor->values(1)[0] = 1;
  const std::vector<float> inputs = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (int round = 0; round < 2; ++round) {
    for (int64_t size = 1; size <= 9; ++size) {
      ASSERT_TRUE(executor->Forward({.size = size, .inputs = {inputs.data()}}, false).ok());
      ASSERT_EQ(executor->output()->size(), static_cast<size_t>(size));
      EXPECT_EQ((*executor->output())[size - 1], 2 * size + 1);
    }
  }
}

TEST_F(ExecutorTest, AnIdThatTheTableLacksIsRefused) {
  for (const char* type : {"int32", "float32"}) {
    const auto executor =
        CreateFor({{"ids", "InputLayer",
                    R"({"batch_shape": [null, 2], "dtype": ")" + std::string(type) + R"("})"},
                   {"table", "Embedding", R"({"input_dim": 4, "output_dim": 1})"}},
                  "", 1);
    const bool floats = std::string(type) == "float32";
    for (int32_t id : {4, -1, 1000000}) {
      const int32_t ints[] = {0, id};
      const float ids[] = {0, static_cast<float>(id)};
      const void* input = floats ? static_cast<const void*>(ids) : ints;
      const absl::Status status = executor->Forward({.size = 1, .inputs = {input}}, true).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find("'table'"), absl::string_view::npos) << status;
    }
  }
}

TEST_F(ExecutorTest, MoreThreadsComputeTheSameUpToRounding) {
  model_ = ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 12, 12, 3]})"},
                    {"conv", "Conv2D", R"({"filters": 16, "kernel_size": 3})"},
                    {"flat", "Flatten"},
                    {"d", "Dense", R"({"units": 64})"}});
  std::vector<float> input(32 * 12 * 12 * 3);
  for (size_t i = 0; i < input.size(); ++i) input[i] = std::sin(static_cast<float>(i));
  std::vector<std::vector<float>> outputs;
  for (int threads : {1, 2, 3}) {
    const auto executor =
        *Executor::Create(model_.get(), nullptr,
                          {.batch_size = 32, .threads = threads, .training = false}, device_.get());
    for (int v : {0, 2}) {
      for (float& value : executor->values(v)) value = 0.01f;
    }
    ASSERT_TRUE(executor->Forward({.size = 32, .inputs = {input.data()}}, false).ok());
    outputs.emplace_back(executor->output()->begin(), executor->output()->end());
    for (size_t i = 0; i < outputs[0].size(); ++i) {
      ASSERT_NEAR(outputs.back()[i], outputs[0][i], 1e-5) << threads << " threads";
    }
  }
}

TEST_F(ExecutorTest, OptionsOutOfRangeAreRefused) {
  model_ = ModelOf({kOne, {"d", "Dense", R"({"units": 1})"}});
  for (const Executor::Options& options :
       {Executor::Options{.batch_size = 0}, Executor::Options{.batch_size = int64_t{1} << 40},
        Executor::Options{.batch_size = 1, .threads = 0}}) {
    EXPECT_EQ(Executor::Create(model_.get(), nullptr, options, device_.get()).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ExecutorTest, AModelThatDoesNotFitIntoMemoryIsRefused) {
  model_ = ModelOf({kOne, {"d", "Dense", R"({"units": 1000000000000})"}});
  EXPECT_EQ(Executor::Create(model_.get(), nullptr, {.batch_size = 1 << 20}, device_.get())
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace cairn::nn::testing
