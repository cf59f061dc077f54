// Whole training steps on a device against the same steps on the CPU: large tensors, losses,
// metrics, penalties, ids. The conformance suite tests each layer alone.

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/cpu/cpu_device.h"
#include "nn/executor.h"
#include "nn/metric.h"
#include "proto/objective.pb.h"
#include "tests/nn/layers/conformance_device.h"
#include "tests/nn/layers/test_batch.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

using ::testing::ElementsAreArray;

constexpr int64_t kBatchSize = 3;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::unique_ptr<const Loss> LossNamed(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return *CreateLoss(config);
}

class StepsTest : public ::testing::Test {
 protected:
  StepsTest() : device_(CreateConformanceDevice()) {}
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << "the device is not there";
  }

  std::unique_ptr<Device> device_;
};

// Two outputs, a shared layer, a view with two consumers, and penalties.
std::unique_ptr<Model> BranchedModel() {
  constexpr char kDense[] =
      R"({"units": 4, "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.2}},
          "activity_regularizer": "l2"})";
  return ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 4]})"},
                  {"dense", "Dense", kDense},
                  {"again", "Dense", kDense, {"dense"}, "dense"},
                  {"view", "Reshape", R"({"target_shape": [4]})", {"again"}},
                  {"sum", "Add", "{}", {"again", "view"}},
                  {"kind", "Dense", R"({"units": 3, "activation": "softmax"})", {"sum"}},
                  {"size", "Dense", R"({"units": 3, "activation": "sigmoid"})", {"sum"}}},
                 {"kind", "size"});
}

// Loss, penalty, metrics, outputs and gradients of one step.
std::vector<double> Step(const Model& model, const Objective& objective, int64_t size,
                         Device* device, Precision precision = Precision::kFloat32) {
  const TestBatch data(model, objective, size);
  auto executor =
      *Executor::Create(&model, &objective, {.batch_size = size, .precision = precision}, device);
  for (size_t v = 0; v < model.variables().size(); ++v) {
    const absl::Span<float> values = executor->values(static_cast<int>(v));
    for (size_t i = 0; i < values.size(); ++i) values[i] = RandomUniform(50 + v, i) - 0.4f;
  }
  const auto results = executor->Forward(data.batch, /*training=*/true);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<double> all = {results->loss_sum, results->penalty};
  const auto add = [&all](const auto& numbers) {
    all.insert(all.end(), numbers.begin(), numbers.end());
  };
  for (const std::vector<double>& state : results->metrics) add(state);
  for (size_t i = 0; i < model.outputs().size(); ++i) add(*executor->output(static_cast<int>(i)));
  EXPECT_TRUE(executor->Backward([&](int variable) { add(executor->gradient(variable)); }).ok());
  return all;
}

void ExpectStepOfTheCpu(const Model& model, const Objective& objective, int64_t size,
                        Device* device) {
  CpuDevice cpu;
  const std::vector<double> expected = Step(model, objective, size, &cpu);
  const std::vector<double> computed = Step(model, objective, size, device);
  ASSERT_EQ(computed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(computed[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
  }
}

// More products in one call than a grid has blocks in a dimension.
TEST_F(StepsTest, ManySmallProductsAreThoseOfTheCpu) {
  const auto model = ModelOf(
      {{"input", "InputLayer", R"({"batch_shape": [null, 1, 2]})"},
       {"other", "Dense", R"({"units": 2})", {"input"}},
       {"dot", "Dot", R"({"axes": [2, 2]})", {"input", "other"}},
       {"heads", "MultiHeadAttention", R"({"num_heads": 17, "key_dim": 1})", {"dot", "dot"}}});
  const Objective objective(LossNamed("mean_squared_error"));
  ExpectStepOfTheCpu(*model, objective, /*size=*/4100, device_.get());
  const auto dots = ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 1, 2]})"},
                             {"other", "Dense", R"({"units": 2})", {"input"}},
                             {"dot", "Dot", R"({"axes": [2, 2]})", {"input", "other"}}});
  ExpectStepOfTheCpu(*dots, objective, /*size=*/65600, device_.get());
}

// The inputs of products are rounded to fewer bits, and nothing else. The bounds are the spacing of
// the numbers; the greatest difference shows that they were rounded at all.
TEST_F(StepsTest, LessPrecisionIsWithinItsBounds) {
  const auto model = BranchedModel();
  std::vector<Objective::OutputLoss> losses;
  for (int output = 0; output < 2; ++output) losses.push_back({LossNamed("mean_squared_error"), 1});
  const Objective objective(std::move(losses), {});
  const std::vector<double> exact = Step(*model, objective, kBatchSize, device_.get());
  const auto greatest_difference = [&](Precision precision) {
    const std::vector<double> computed =
        Step(*model, objective, kBatchSize, device_.get(), precision);
    double greatest = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      greatest = std::max(greatest,
                          std::fabs(computed[i] - exact[i]) / std::max(1.0, std::fabs(exact[i])));
    }
    return greatest;
  };
  EXPECT_LT(greatest_difference(Precision::kTensorFloat32), 2e-3);
  const double of_float16 = greatest_difference(Precision::kFloat16);
  EXPECT_LT(of_float16, 2e-3);
  EXPECT_GT(of_float16, 1e-6);
  const double of_bfloat16 = greatest_difference(Precision::kBfloat16);
  EXPECT_LT(of_bfloat16, 2e-2);
  EXPECT_GT(of_bfloat16, 1e-5);
  EXPECT_EQ(greatest_difference(Precision::kFloat32), 0);
}

// A recurrent layer, whose backward pass overwrites what its forward pass has kept; penalties of
// weights and outputs; statistics of a batch.
std::unique_ptr<Model> ScaledModel() {
  return ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 4, 3]})"},
                  {"lstm", "LSTM", R"({"units": 5})"},
                  {"norm", "BatchNormalization"},
                  {"hidden", "Dense", R"({"units": 4, "kernel_regularizer": {"class_name": "L1L2",
                      "config": {"l1": 0.0, "l2": 1e-9}}, "activity_regularizer": {"class_name":
                      "L1L2", "config": {"l1": 0.0, "l2": 1e-9}}})"},
                  {"last", "Dense", R"({"units": 2})"}});
}

// The gradients of a step in float16 whose loss has this weight, compared with those of the CPU:
// the greatest difference in units of each variable's greatest gradient. Infinite if one is not
// finite.
double GreatestDifference(double loss_weight, Device* device) {
  const auto model = ScaledModel();
  std::vector<Objective::OutputLoss> losses;
  losses.push_back({.loss = LossNamed("mean_squared_error"), .weight = loss_weight});
  const Objective objective(std::move(losses), {});
  const TestBatch data(*model, objective, kBatchSize);
  CpuDevice cpu;
  std::vector<std::vector<float>> gradients[2];
  for (Device* const each : {static_cast<Device*>(&cpu), device}) {
    auto executor =
        *Executor::Create(model.get(), &objective,
                          {.batch_size = kBatchSize, .precision = Precision::kFloat16}, each);
    for (size_t v = 0; v < model->variables().size(); ++v) {
      const absl::Span<float> values = executor->values(static_cast<int>(v));
      for (size_t i = 0; i < values.size(); ++i) values[i] = RandomUniform(50 + v, i) + 0.1f;
    }
    std::vector<std::vector<float>>& all = gradients[each == device];
    all.resize(model->variables().size());
    const auto keep = [&](int variable) {
      all[variable].assign(executor->gradient(variable).begin(),
                           executor->gradient(variable).end());
    };
    EXPECT_TRUE(executor
                    ->Step(
                        data.batch, [](const auto&) { return true; }, keep)
                    .ok());
  }
  double greatest = 0;
  for (size_t v = 0; v < gradients[0].size(); ++v) {
    double size = 0, difference = 0;
    for (size_t i = 0; i < gradients[0][v].size(); ++i) {
      if (!std::isfinite(gradients[1][v][i])) return std::numeric_limits<double>::infinity();
      size = std::max<double>(size, std::fabs(gradients[0][v][i]));
      difference = std::max<double>(difference, std::fabs(gradients[0][v][i] - gradients[1][v][i]));
    }
    if (size > 0) greatest = std::max(greatest, difference / size);
  }
  return greatest;
}

// Without a scale the gradients of the smallest weight are below 2^-25, which is 0 in float16.
// Those of the greatest but one overflow with the scales 2^15 and 2^10, and those of the greatest
// without a scale, too.
TEST_F(StepsTest, TheLossOfFloat16IsScaled) {
  for (const double weight : {0x1p-25, 0x1p-12, 1.0, 0x1p3, 0x1p10}) {
    EXPECT_LT(GreatestDifference(weight, device_.get()), 4e-3) << weight;
  }
  EXPECT_EQ(GreatestDifference(0x1p30, device_.get()), std::numeric_limits<double>::infinity());
}

// The conformance suite has small tensors: one block and one piece of each sum.
TEST_F(StepsTest, LargeTensorsOfManyBlocksAreComputedAsByTheCpu) {
  const auto model = ModelOf(
      {{"input", "InputLayer", R"({"batch_shape": [null, 13, 11, 3]})"},
       {"conv", "Conv2D", R"({"filters": 35, "kernel_size": 3, "strides": 2, "padding": "same",
                              "activation": "tanh"})"},
       {"norm", "BatchNormalization"},
       {"layer", "LayerNormalization"},
       {"pool", "MaxPooling2D", R"({"padding": "same"})"},
       {"flat", "Flatten"},
       {"row", "LayerNormalization"},
       {"wide", "Dense", R"({"units": 301, "kernel_regularizer": {"class_name": "L1L2", "config":
                             {"l1": 0.0001, "l2": 0.0002}}, "activation": "softmax"})"},
       {"last", "Dense", R"({"units": 3, "activation": "softmax"})"}});
  const Objective objective(LossNamed("sparse_categorical_crossentropy"));
  ExpectStepOfTheCpu(*model, objective, /*size=*/37, device_.get());
}

TEST_F(StepsTest, EveryLossAndMetricAndPenaltyIsThatOfTheCpu) {
  const auto model = BranchedModel();
  for (const std::string& name : LossNames()) {
    SCOPED_TRACE(name);
    std::vector<Objective::OutputLoss> losses;
    std::vector<Objective::OutputMetric> metrics;
    for (int output = 0; output < 2; ++output) {
      losses.push_back({.loss = LossNamed(name), .weight = 0.5 + output});
      for (const char* metric : {"loss", "accuracy", "auc", "recall", "mean_squared_error"}) {
        proto::Metric config;
        config.set_name(metric);
        auto created = CreateMetric(config, *losses.back().loss, model->outputs()[0].shape);
        if (created.ok()) metrics.push_back({*std::move(created), output});
      }
    }
    const Objective objective(std::move(losses), std::move(metrics));
    ExpectStepOfTheCpu(*model, objective, kBatchSize, device_.get());
  }
}

TEST_F(StepsTest, AnIdOutOfRangeIsRefusedAndTheNextBatchComputed) {
  const auto model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 2], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"}});
  auto executor = *Executor::Create(model.get(), nullptr, {.batch_size = 1}, device_.get());
  for (const int32_t id : {4, -1}) {
    const int32_t wrong[] = {3, id};
    const absl::Status status =
        executor->Forward({.size = 1, .inputs = {wrong}}, /*training=*/false).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(status), "layer 'table' (Embedding): id " + std::to_string(id) +
                                   " is not one of the rows 0 to 3");
  }
  const int32_t right[] = {3, 0};
  EXPECT_TRUE(executor->Forward({.size = 1, .inputs = {right}}, /*training=*/false).ok());
}

TEST_F(StepsTest, LargeRecurrentLayersAreComputedAsByTheCpu) {
  const auto model = ModelOf(
      {{"input", "InputLayer", R"({"batch_shape": [null, 9, 5]})"},
       {"both", "Bidirectional", R"({"layer": {"class_name": "LSTM", "config": {"units": 34,
                  "return_sequences": true, "dropout": 0.2}}, "merge_mode": "mul"})"},
       {"gru", "GRU", R"({"units": 19, "return_sequences": true, "recurrent_dropout": 0.3})"},
       {"old", "GRU", R"({"units": 17, "reset_after": false, "return_sequences": true})"},
       {"images", "Reshape", R"({"target_shape": [3, 3, 17, 1]})"},
       {"conv", "ConvLSTM2D", R"({"filters": 7, "kernel_size": 2, "strides": 2})"},
       {"flat", "Flatten"},
       {"last", "Dense", R"({"units": 3, "activation": "softmax"})"}});
  const Objective objective(LossNamed("sparse_categorical_crossentropy"));
  ExpectStepOfTheCpu(*model, objective, /*size=*/37, device_.get());
}

// More positions than a block has threads.
TEST_F(StepsTest, AttentionToManyPositionsIsComputedAsByTheCpu) {
  const auto model =
      ModelOf({{"query", "InputLayer", R"({"batch_shape": [null, 3, 5]})"},
               {"long", "InputLayer", R"({"batch_shape": [null, 300, 2]})"},
               {"value", "Dense", R"({"units": 5})", {"long"}},
               {"heads",
                "MultiHeadAttention",
                R"({"num_heads": 2, "key_dim": 3, "dropout": 0.2})",
                {"query", "value"}},
               {"dots", "Attention", R"({"use_scale": true, "dropout": 0.3})", {"heads", "value"}},
               {"sums", "AdditiveAttention", "{}", {"dots", "value"}},
               {"flat", "Flatten"},
               {"last", "Dense", R"({"units": 3, "activation": "softmax"})"}});
  const Objective objective(LossNamed("sparse_categorical_crossentropy"));
  ExpectStepOfTheCpu(*model, objective, kBatchSize, device_.get());
}

// Of the rows and of the columns of matrices of both shapes.
TEST_F(StepsTest, OrthogonalPenaltiesAreThoseOfTheCpu) {
  constexpr char kDense[] = R"({"units": %d, "kernel_regularizer": {
      "class_name": "OrthogonalRegularizer", "config": {"factor": 0.3, "mode": "%s"}}})";
  const auto model = ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 5]})"},
                              {"wide", "Dense", absl::StrFormat(kDense, 37, "columns")},
                              {"narrow", "Dense", absl::StrFormat(kDense, 3, "rows")},
                              {"last", "Dense", absl::StrFormat(kDense, 3, "columns")}});
  const Objective objective(LossNamed("mean_squared_error"));
  ExpectStepOfTheCpu(*model, objective, /*size=*/3, device_.get());
}

TEST_F(StepsTest, ValuesThatAreNoIdsAreThoseOfTheCpu) {
  const auto model = ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 2]})"},
                              {"hot", "CategoryEncoding", R"({"num_tokens": 4})"}});
  auto executor = *Executor::Create(model.get(), nullptr, {.batch_size = 1}, device_.get());
  const float wrong[] = {3.5, 4.5};
  EXPECT_EQ(Message(executor->Forward({.size = 1, .inputs = {wrong}}, /*training=*/false).status()),
            "layer 'hot' (CategoryEncoding): id 4.5 is not one of the tokens 0 to 3");
  // NaN is in the last bin on the CPU, too.
  const auto bins = ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 3]})"},
                             {"bins", "Discretization", R"({"bin_boundaries": [0, 1]})"}});
  executor = *Executor::Create(bins.get(), nullptr, {.batch_size = 1}, device_.get());
  const float values[] = {0, std::nanf(""), -1};
  ASSERT_TRUE(executor->Forward({.size = 1, .inputs = {values}}, /*training=*/false).ok());
  EXPECT_THAT(*executor->output(0), ElementsAreArray({1.0f, 2.0f, 0.0f}));
}

// An id and a class label: the first error in the order of the layers is reported, with the
// results.
TEST_F(StepsTest, ABatchWithAWrongIdOrClassLabelIsRefusedAndTheNextOneComputed) {
  const auto model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 2], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 4, "output_dim": 5})"},
               {"flat", "Flatten"},
               {"kind", "Dense", R"({"units": 3, "activation": "softmax"})"}});
  const Objective objective(LossNamed("sparse_categorical_crossentropy"));
  auto executor = *Executor::Create(model.get(), &objective, {.batch_size = 2}, device_.get());
  const int32_t right_ids[] = {3, 0, 1, 2}, wrong_ids[] = {3, 0, 4, -7};
  const int32_t right_labels[] = {2, 0}, large_label[] = {1, 3}, negative_label[] = {-1, 3};
  const auto step = [&](const int32_t* ids, const int32_t* labels) {
    int calls = 0;
    const absl::Status status = executor->Step(
        {.size = 2, .inputs = {ids}, .labels = {labels}}, [&](const auto&) { return ++calls != 0; },
        [&](int) { ++calls; });
    // The results and the gradients of all variables, or nothing.
    EXPECT_EQ(calls, status.ok() ? 4 : 0);
    return status;
  };
  EXPECT_EQ(Message(step(right_ids, large_label)),
            "loss sparse_categorical_crossentropy: label 3 is not one of the classes 0 to 2");
  EXPECT_EQ(Message(step(right_ids, negative_label)),
            "loss sparse_categorical_crossentropy: label -1 is not one of the classes 0 to 2");
  EXPECT_EQ(Message(step(wrong_ids, large_label)),
            "layer 'table' (Embedding): id 4 is not one of the rows 0 to 3");
  EXPECT_TRUE(step(right_ids, right_labels).ok());
}

// An id that fills a batch, and more ids than one block sorts.
TEST_F(StepsTest, GradientsOfManyIdsAreThoseOfTheCpu) {
  const auto model =
      ModelOf({{"ids", "InputLayer", R"({"batch_shape": [null, 150], "dtype": "int32"})"},
               {"table", "Embedding", R"({"input_dim": 4, "output_dim": 2})"},
               {"flat", "Flatten"},
               {"last", "Dense", R"({"units": 2})"}});
  const Objective objective(LossNamed("mean_squared_error"));
  ExpectStepOfTheCpu(*model, objective, /*size=*/9, device_.get());
}

}  // namespace
}  // namespace cairn::nn::testing
