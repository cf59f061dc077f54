#include "cli/model/prediction.h"

#include "common/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TrainedModel Example() { return {ExamplePlan(), ExampleManifest(), ExampleValues()}; }

std::string Npy(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return FormatNpyHeader({'f', 4, shape}) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// Of a model with one output, of which it is.
absl::StatusOr<Prediction> PredictOne(const TrainedModel& trained, const std::string& file,
                                      double scale) {
  auto predictions = Predict(trained, {file}, {"x.npy"}, scale);
  if (!predictions.ok()) return predictions.status();
  EXPECT_EQ(predictions->size(), 1u);
  return (*predictions)[0];
}

TEST(PredictionTest, EveryExampleGoesThroughTheModelInBatches) {
  // The first input picks out the kernel's first row, 0 1 2; the bias is 100 200 300.
  constexpr int kExamples = 1000;
  std::vector<float> x(kExamples * 4, 0.0f);
  for (int i = 0; i < kExamples; ++i) x[i * 4] = static_cast<float>(i);
  const auto prediction = PredictOne(Example(), Npy({kExamples, 4}, x), 1);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_THAT(prediction->shape, ElementsAre(kExamples, 3));
  for (int i = 0; i < kExamples; ++i) {
    EXPECT_EQ(prediction->values[i * 3], 100);
    EXPECT_EQ(prediction->values[i * 3 + 1], 200 + i);
    EXPECT_EQ(prediction->values[i * 3 + 2], 300 + 2 * i);
  }
}

TEST(PredictionTest, InputsAreScaled) {
  const auto prediction = PredictOne(Example(), Npy({1, 4}, {0, 10, 0, 0}), 0.5);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_THAT(prediction->values, ElementsAre(115, 220, 325));
}

TEST(PredictionTest, InputsAreStandardizedAsTheJobsDataWere) {
  TrainedModel trained = Example();
  auto& statistics = *trained.plan.mutable_data()->add_inputs();
  for (int i = 0; i < 4; ++i) {
    statistics.add_mean(10);
    statistics.add_deviation(4);
  }
  // (2 * 9 - 10) / 4 = 2 in the second place: twice the kernel's second row, and -2.5 elsewhere.
  const auto prediction = PredictOne(trained, Npy({1, 4}, {0, 9, 0, 0}), 2);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_THAT(prediction->values,
              ElementsAre(100 + 2 * 3 - 2.5 * (0 + 6 + 9), 200 + 2 * 4 - 2.5 * (1 + 7 + 10),
                          300 + 2 * 5 - 2.5 * (2 + 8 + 11)));
}

TEST(PredictionTest, EveryOutputHasItsOwn) {
  // What feeds the output, its input, is an output too.
  TrainedModel trained = Example();
  trained.plan.mutable_model()->add_outputs(trained.plan.model().inputs(0));
  const auto predictions = Predict(trained, {Npy({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}, {"x.npy"}, 1);
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  ASSERT_EQ(predictions->size(), 2u);
  EXPECT_EQ((*predictions)[0].output, trained.plan.model().outputs(0));
  EXPECT_THAT((*predictions)[0].shape, ElementsAre(2, 3));
  EXPECT_EQ((*predictions)[1].output, trained.plan.model().outputs(1));
  EXPECT_THAT((*predictions)[1].values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(PredictionTest, NoExamplesAreNoPredictions) {
  const auto prediction = PredictOne(Example(), Npy({0, 4}, {}), 1);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_THAT(prediction->shape, ElementsAre(0, 3));
}

TEST(PredictionTest, InputsThatDoNotFitAreNamed) {
  const auto refusal = [](const std::string& file) {
    return std::string(Predict(Example(), {file}, {"x.npy"}, 1).status().message());
  };
  EXPECT_THAT(refusal(Npy({1, 5}, {1, 2, 3, 4, 5})), HasSubstr("x.npy: its shape is (1, 5)"));
  EXPECT_THAT(refusal(Npy({}, {1})), HasSubstr("x.npy"));
  EXPECT_THAT(refusal("zip"), HasSubstr("x.npy: not a usable .npy file"));
}

TEST(PredictionTest, ValuesThatAreNotTheModelsAreRefused) {
  TrainedModel trained = Example();
  trained.variables[0].pop_back();
  EXPECT_EQ(Predict(trained, {Npy({1, 4}, {0, 0, 0, 0})}, {"x.npy"}, 1).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cairn::cli
