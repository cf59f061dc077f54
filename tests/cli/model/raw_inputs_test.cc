#include "cli/model/raw_inputs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/model.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

TEST(RawInputsTest, ScaleAndStandardizationBecomeLayersBehindTheInput) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_train()->set_scale(0.5);
  auto* const statistics = plan.mutable_data()->add_inputs();
  for (const double deviation : {1, 2, 3, 4}) {
    statistics->add_mean(7);
    statistics->add_deviation(deviation);
  }
  const auto model = ModelOfRawInputs(plan);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->layers_size(), plan.model().layers_size() + 2);
  const std::string input = plan.model().inputs(0);
  EXPECT_EQ(model->layers(1).class_name(), "Rescaling");
  EXPECT_EQ(model->layers(1).inputs(0), input);
  EXPECT_EQ(model->layers(1).config().fields().at("scale").number_value(), 0.5);
  EXPECT_EQ(model->layers(2).class_name(), "Normalization");
  EXPECT_EQ(model->layers(2).inputs(0), model->layers(1).name());
  EXPECT_EQ(model->layers(3).inputs(0), model->layers(2).name());
  const auto& fields = model->layers(2).config().fields();
  EXPECT_EQ(fields.at("variance").list_value().values(3).number_value(), 16);
  const auto created = nn::Model::Create(*model);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ((*created)->variables().size(), 2);
}

TEST(RawInputsTest, WithoutPreprocessingTheModelIsTheSame) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_train()->clear_scale();
  EXPECT_EQ(ModelOfRawInputs(plan)->DebugString(), plan.model().DebugString());
}

TEST(RawInputsTest, AVocabularyIsNoLayer) {
  proto::JobPlan plan = ExamplePlan();
  auto* const column = plan.mutable_job()->mutable_train()->mutable_csv()->add_features();
  column->set_name("city");
  column->add_vocabulary("Rome");
  EXPECT_THAT(std::string(ModelOfRawInputs(plan).status().message()),
              HasSubstr("--with-preprocessing: column city"));
}

TEST(RawInputsTest, WhatTheDataDecidedIsNoLayer) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_data()->add_vocabularies()->set_column("country");
  EXPECT_THAT(std::string(ModelOfRawInputs(plan).status().message()), HasSubstr("column country"));
  plan = ExamplePlan();
  plan.mutable_data()->add_fills()->set_column("age");
  EXPECT_THAT(std::string(ModelOfRawInputs(plan).status().message()), HasSubstr("column age"));
}

}  // namespace
}  // namespace cairn::cli
