#include "job/class_weights.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/job.pb.h"

namespace cairn::job {
namespace {

std::unique_ptr<nn::Loss> LossNamed(const std::string& name) {
  proto::Loss config;
  config.set_name(name);
  return *nn::CreateLoss(config);
}

std::string Refusal(const std::map<int64_t, double>& weights, const std::string& loss,
                    const nn::Shape& shape) {
  const auto created = ClassWeights::Create(weights, *LossNamed(loss), shape);
  return created.ok() ? "" : std::string(created.status().message());
}

TEST(ClassWeightsTest, AClassNumberIsTheClass) {
  const auto loss = LossNamed("sparse_categorical_crossentropy");
  const auto weights = ClassWeights::Create({{0, 1}, {1, 2}, {2, 0.5}}, *loss, {3});
  const std::vector<int32_t> labels = {2, 0, 1, 1};
  std::vector<float> filled(4);
  ASSERT_TRUE(weights->Fill(4, labels.data(), filled.data()).ok());
  EXPECT_EQ(filled, (std::vector<float>{0.5f, 1, 2, 2}));
}

TEST(ClassWeightsTest, OfAOneHotLabelTheClassIsThePlaceOfItsLargestValue) {
  const auto loss = LossNamed("categorical_crossentropy");
  const auto weights = ClassWeights::Create({{0, 1}, {1, 2}, {2, 4}}, *loss, {3});
  const std::vector<float> labels = {0, 0, 1, 0.2f, 0.7f, 0.1f};
  std::vector<float> filled(2);
  ASSERT_TRUE(weights->Fill(2, labels.data(), filled.data()).ok());
  EXPECT_EQ(filled, (std::vector<float>{4, 2}));
}

TEST(ClassWeightsTest, ABinaryLabelIsItsOwnClass) {
  const auto loss = LossNamed("binary_crossentropy");
  const auto weights = ClassWeights::Create({{0, 1}, {1, 3}}, *loss, {1});
  const std::vector<float> labels = {1, 0};
  std::vector<float> filled(2);
  ASSERT_TRUE(weights->Fill(2, labels.data(), filled.data()).ok());
  EXPECT_EQ(filled, (std::vector<float>{3, 1}));
}

TEST(ClassWeightsTest, ALabelWithoutAWeightIsRefused) {
  const auto loss = LossNamed("binary_crossentropy");
  const auto weights = ClassWeights::Create({{0, 1}, {1, 3}}, *loss, {1});
  for (const float label : {2.0f, -1.0f, 1e30f, NAN}) {
    float filled = 0;
    EXPECT_FALSE(weights->Fill(1, &label, &filled).ok()) << label;
  }
}

TEST(ClassWeightsTest, EveryClassHasAWeight) {
  const std::string sparse = "sparse_categorical_crossentropy";
  EXPECT_EQ(Refusal({{1, 1}, {2, 1}}, sparse, {3}),
            "class 0 has no weight; give one for each class, from 0 on");
  EXPECT_EQ(Refusal({{0, 1}, {2, 1}}, sparse, {3}),
            "class 1 has no weight; give one for each class, from 0 on");
  EXPECT_EQ(Refusal({{-1, 1}}, sparse, {3}),
            "class -1 does not exist; give one for each class, from 0 on");
  EXPECT_EQ(Refusal({{0, 1}, {1, 1}}, sparse, {3}), "has weights for 2 classes, the model knows 3");
  EXPECT_EQ(Refusal({{0, 1}, {1, -2}}, sparse, {2}),
            "the weight of class 1, -2, is not a number of 0 or more");
  EXPECT_EQ(Refusal({{0, 1}}, sparse, {5, 3}),
            "an example must have one class, and the model's output for one is of shape (5, 3)");
}

}  // namespace
}  // namespace cairn::job
