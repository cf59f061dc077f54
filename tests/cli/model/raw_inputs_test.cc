#include "cli/model/raw_inputs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/model.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RawInputsTest, ScaleAndStandardizationBecomeLayersBehindTheInput) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_train()->set_scale(0.5);
  plan.mutable_job()->mutable_train()->set_standardize(true);
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
  // The statistics of a step are of this input only if it has the step.
  plan.mutable_job()->mutable_train()->set_standardize(false);
  EXPECT_EQ(ModelOfRawInputs(plan)->layers_size(), plan.model().layers_size() + 1);
}

TEST(RawInputsTest, WithoutPreprocessingTheModelIsTheSame) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_train()->clear_scale();
  EXPECT_EQ(ModelOfRawInputs(plan)->DebugString(), plan.model().DebugString());
}

// The example's input of 4 numbers as columns: city (one_hot of Bern and Rom, or 2 ids), age.
proto::JobPlan PlanOfColumns() {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_train()->clear_scale();
  auto* const csv = plan.mutable_job()->mutable_train()->mutable_csv();
  auto* const city = csv->add_features();
  city->set_name("a/city");
  city->set_categorical(true);
  city->set_one_hot(true);
  city->set_unknown(true);
  csv->add_features()->set_name("age");
  auto* const vocabulary = plan.mutable_data()->add_vocabularies();
  vocabulary->set_column("a/city");
  vocabulary->add_names("Bern");
  vocabulary->add_names("Rom");
  return plan;
}

TEST(RawInputsTest, ColumnsOfCategoriesBecomeInputsOfText) {
  const proto::JobPlan plan = PlanOfColumns();
  const auto model = ModelOfRawInputs(plan);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->inputs(), ElementsAre("a_city", "age"));
  std::vector<std::string> classes;
  for (const auto& layer : model->layers()) classes.push_back(layer.class_name());
  classes.resize(9);
  EXPECT_THAT(classes, ElementsAre("InputLayer", "StringLookup", "Rescaling", "Rescaling",
                                   "Maximum", "CategoryEncoding", "InputLayer", "Concatenate", _));
  EXPECT_EQ(model->layers(8).inputs(0), model->layers(7).name());
  const auto& lookup = model->layers(1).config().fields();
  EXPECT_EQ(lookup.at("vocabulary").list_value().values(1).string_value(), "Rom");
  EXPECT_EQ(lookup.at("num_oov_indices").number_value(), 1);
  EXPECT_FALSE(model->sequential());
  const auto created = nn::Model::Create(*model);
  ASSERT_TRUE(created.ok()) << created.status();
}

TEST(RawInputsTest, WhatLayersCannotSayIsRefusedByName) {
  proto::JobPlan plan = PlanOfColumns();
  plan.mutable_data()->mutable_vocabularies(0)->set_names(0, "M\xfcnchen");
  EXPECT_THAT(std::string(ModelOfRawInputs(plan).status().message()),
              HasSubstr("--with-preprocessing: column a/city has the name \"M\\xfcnchen\""));
  plan = PlanOfColumns();
  plan.mutable_job()->mutable_train()->add_pipeline()->mutable_window()->set_size(2);
  EXPECT_THAT(ModelOfRawInputs(plan).status().message(),
              HasSubstr("an input is a window of rows with names"));
}

// A job whose examples have the first shape in the files and the second one in the model.
proto::JobPlan PlanOfShapes(const std::vector<int>& in_files, const std::vector<int>& in_model) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_train()->clear_scale();
  auto& fields = *plan.mutable_model()->mutable_layers(0)->mutable_config()->mutable_fields();
  auto& shape = *fields["batch_shape"].mutable_list_value();
  while (shape.values_size() > 1) shape.mutable_values()->RemoveLast();
  for (const int size : in_model) shape.add_values()->set_number_value(size);
  auto* const sizes = plan.mutable_data()->add_input_shapes();
  for (const int size : in_files) sizes->add_sizes(size);
  return plan;
}

// The shape of the exported model's input without the examples, or the error.
std::string InputOf(const proto::JobPlan& plan) {
  const auto model = ModelOfRawInputs(plan);
  if (!model.ok()) return std::string(model.status().message());
  const auto& sizes = model->layers(0).config().fields().at("batch_shape").list_value().values();
  std::string text;
  for (int i = 1; i < sizes.size(); ++i) {
    text += std::to_string(static_cast<int>(sizes[i].number_value())) + " ";
  }
  return text;
}

TEST(RawInputsTest, TheInputHasTheShapeOfTheFiles) {
  const auto shape_of = [](const std::vector<int>& in_files, const std::vector<int>& in_model) {
    proto::JobPlan plan = PlanOfShapes(in_files, in_model);
    plan.mutable_job()->mutable_train()->add_pipeline()->set_one_hot(4);
    return InputOf(plan);
  };
  EXPECT_EQ(shape_of({5}, {5, 4}), "5 ");
  EXPECT_EQ(shape_of({5, 1}, {5, 4}), "5 1 ");
  EXPECT_EQ(shape_of({}, {4}), "1 ");
  EXPECT_EQ(shape_of({1}, {4}), "1 ");
}

// The classes of the layers that prepare the input, and its type, or the error.
std::string LayersOf(const proto::JobPlan& plan) {
  const auto model = ModelOfRawInputs(plan);
  if (!model.ok()) return std::string(model.status().message());
  const auto created = nn::Model::CreateForExport(*model);
  if (!created.ok()) return std::string(created.status().message());
  std::string text = model->layers(0).config().fields().at("dtype").string_value();
  const int added = model->layers_size() - plan.model().layers_size();
  for (int i = 1; i <= added; ++i) text += " " + model->layers(i).class_name();
  return text;
}

TEST(RawInputsTest, WholeNumbersHave64BitsWhereTheyAreLookedUpOrHashed) {
  proto::JobPlan plan = PlanOfShapes({4}, {4});
  auto& pipeline = *plan.mutable_job()->mutable_train()->mutable_pipeline();
  pipeline.Add()->set_cast("int64");
  auto& vocabulary = *pipeline.Add()->mutable_vocabulary();
  vocabulary.add_numbers(7);
  EXPECT_EQ(LayersOf(plan), "int64 IntegerLookup");
  vocabulary.set_unknown(true);
  EXPECT_EQ(LayersOf(plan), "int64 IntegerLookup Rescaling Rescaling Maximum");
  pipeline.Mutable(0)->set_cast("bool");
  pipeline.Mutable(1)->mutable_hash()->set_num_bins(9);
  EXPECT_EQ(LayersOf(plan), "float32 Sign Multiply Hashing");
  pipeline.Mutable(0)->mutable_pad()->set_length(4);
  EXPECT_EQ(LayersOf(plan), "int64 Hashing");
  plan.mutable_job()->mutable_train()->set_scale(2);
  EXPECT_EQ(LayersOf(plan), "float32 Rescaling Hashing");
  plan.mutable_job()->mutable_train()->clear_scale();
  plan.mutable_data()->mutable_input_shapes(0)->set_sizes(0, 3);
  EXPECT_THAT(LayersOf(plan), HasSubstr("the step \"pad\" of the pipeline stands before \"hash\", "
                                        "and its layer takes no whole numbers of 64 bits; put it "
                                        "behind"));
}

TEST(RawInputsTest, CastsAndPadsAreLayersOfFloats) {
  proto::JobPlan plan = PlanOfShapes({3}, {4});
  auto& pipeline = *plan.mutable_job()->mutable_train()->mutable_pipeline();
  pipeline.Add()->set_cast("int8");
  pipeline.Add()->mutable_pad()->set_length(4);
  const std::string truncation = "float32 Rescaling Maximum Floor Sign Multiply";
  EXPECT_EQ(LayersOf(plan), truncation + " Reshape ZeroPadding2D Reshape");
  pipeline.Mutable(1)->mutable_pad()->set_value(-2);
  EXPECT_EQ(LayersOf(plan), truncation + " Reshape ZeroPadding2D Reshape Normalization Reshape");
  // An input of whole numbers is the cast.
  plan = PlanOfShapes({4}, {4});
  plan.mutable_job()->mutable_train()->add_pipeline()->set_cast("int8");
  auto& input = *plan.mutable_model()->mutable_layers(0)->mutable_config()->mutable_fields();
  input["dtype"].set_string_value("int32");
  EXPECT_THAT(ModelOfRawInputs(plan)->layers_size(), plan.model().layers_size());
}

TEST(RawInputsTest, NumbersBeyondThoseOfAConfigurationAreRefused) {
  proto::JobPlan plan = PlanOfShapes({4}, {4});
  auto& step = *plan.mutable_job()->mutable_train()->add_pipeline();
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;
  const std::string reason = " 9007199254740993 is beyond 2^53, which the numbers in a model's";
  step.mutable_vocabulary()->add_numbers(kLarge);
  EXPECT_THAT(LayersOf(plan), HasSubstr("the number of the vocabulary" + reason));
  step.mutable_hash()->set_num_bins(2);
  step.mutable_hash()->add_salt(kLarge);
  EXPECT_THAT(LayersOf(plan), HasSubstr("the salt" + reason));
  step.mutable_hash()->set_salt(0, kLarge - 1);
  EXPECT_EQ(LayersOf(plan), "int64 Hashing");
  step.mutable_hash()->set_mask_value(-kLarge);
  EXPECT_THAT(LayersOf(plan), HasSubstr("the mask_value -9007199254740993 is beyond 2^53"));
}

TEST(RawInputsTest, DeviationsThatANormalizationDoesNotDivideByAreRefused) {
  proto::JobPlan plan = PlanOfShapes({2}, {2});
  auto* const normalize = plan.mutable_job()->mutable_train()->add_pipeline()->mutable_normalize();
  normalize->add_mean(0);
  const auto layer_of = [&](const std::vector<double>& deviations) {
    normalize->mutable_deviation()->Assign(deviations.begin(), deviations.end());
    const auto model = ModelOfRawInputs(plan);
    return model.ok() ? model->layers(1).class_name() : std::string(model.status().message());
  };
  EXPECT_EQ(layer_of({1e-7, 1e19}), "Normalization");
  EXPECT_EQ(layer_of({1, 9.9e-8}),
            "--with-preprocessing: the step \"normalize\" of the pipeline divides by 9.9e-08, and "
            "its layer by numbers from 1e-07 to 1.8e+19; export without the flag and prepare the "
            "inputs before");
  EXPECT_THAT(layer_of({1, 2e19}), HasSubstr("divides by 2e+19, and its layer"));
  // A factor for all values is not limited.
  EXPECT_EQ(layer_of({1e-8}), "Rescaling");
}

TEST(RawInputsTest, AnInterpolationThatNoLayerHasIsRefused) {
  proto::JobPlan plan = PlanOfShapes({5, 4, 1}, {3, 3, 1});
  auto* const resize = plan.mutable_job()->mutable_train()->add_pipeline()->mutable_resize();
  resize->add_size(3);
  EXPECT_EQ(InputOf(plan), "5 4 1 ");
  resize->set_interpolation("gaussian");
  EXPECT_EQ(InputOf(plan),
            "--with-preprocessing: the step \"resize\" of the pipeline has the interpolation "
            "\"gaussian\", and its layer has \"bilinear\" and \"nearest\"; export without the flag "
            "and prepare the inputs before");
}

TEST(RawInputsTest, ImagesOfAWindowOrWithoutChannelsAreRefused) {
  proto::JobPlan plan = PlanOfShapes({4, 4, 4}, {4, 3, 3});
  auto& pipeline = *plan.mutable_job()->mutable_train()->mutable_pipeline();
  pipeline.Add()->mutable_window()->set_size(4);
  auto* const step = pipeline.Add();
  step->mutable_crop()->add_size(3);
  EXPECT_THAT(InputOf(plan),
              HasSubstr("the step \"crop\" of the pipeline changes the images of a window"));
  step->mutable_resize()->add_size(3);
  EXPECT_THAT(InputOf(plan), HasSubstr("the step \"resize\" of the pipeline changes the images"));
  step->set_flip("vertical");
  EXPECT_EQ(InputOf(plan), "4 4 4 ");
  plan = PlanOfShapes({5, 4}, {3, 3});
  plan.mutable_job()->mutable_train()->add_pipeline()->mutable_crop()->add_size(3);
  EXPECT_THAT(InputOf(plan), HasSubstr("changes images of shape (5, 4), and its layer takes images "
                                       "of shape (height, width, channels)"));
  // The model's last axis of 1 may be missing in the files.
  plan.mutable_model()->CopyFrom(PlanOfShapes({5, 4}, {3, 3, 1}).model());
  EXPECT_EQ(InputOf(plan), "5 4 1 ");
}

}  // namespace
}  // namespace cairn::cli
