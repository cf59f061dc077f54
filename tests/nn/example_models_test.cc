// Checks that the models in examples/models have the published numbers of parameters.

#include <fstream>
#include <ostream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "nn/formats/model_file.h"
#include "nn/model.h"

namespace cairn::nn {
namespace {

struct Published {
  const char* file;
  int64_t trainable;
  int64_t others;
  Shape output;
};

void PrintTo(const Published& model, std::ostream* out) { *out << model.file; }

class ExampleModelTest : public ::testing::TestWithParam<Published> {};

TEST_P(ExampleModelTest, HasAsManyParametersAsPublished) {
  std::ifstream file(std::string("examples/models/") + GetParam().file + ".json");
  ASSERT_TRUE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  const auto imported = ReadModel(text.str(), {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const auto model = Model::Create(imported->spec);
  ASSERT_TRUE(model.ok()) << model.status();
  int64_t trainable = 0;
  int64_t others = 0;
  for (const VariableSpec& variable : (*model)->variables()) {
    const bool is_trained = variable.update == VariableSpec::Update::kOptimized;
    (is_trained ? trainable : others) += variable.element_count();
  }
  EXPECT_EQ(trainable, GetParam().trainable);
  EXPECT_EQ(others, GetParam().others);
  EXPECT_EQ((*model)->output_shape(), GetParam().output);
}

// Sources of the numbers. MobileNetV2 and ResNet50: the summaries of keras.applications (3,538,984,
// 2,257,984 and 25,636,712 in total). DCGAN: TensorFlow's tutorial. The others are summed by hand.
INSTANTIATE_TEST_SUITE_P(
    Models, ExampleModelTest,
    ::testing::Values(Published{"mobilenet_v2", 3504872, 34112, {1000}},
                      Published{"mobilenet_v2_no_top", 2223872, 34112, {7, 7, 1280}},
                      Published{"mobilenet_v2_035_96", 396128 + 12810, 14080, {10}},
                      Published{"mobilenet_v2_035_32", 396128 + 12810, 14080, {10}},
                      Published{"mobilenet_v2_transfer", 6405, 2257984, {5}},
                      Published{"resnet50", 25583592, 53120, {1000}},
                      Published{"resnet50_32", 23534592 + 20490, 53120, {10}},
                      Published{"cifar10_cnn", 1070794, 0, {10}},
                      Published{"wide_and_deep", 173265, 0, {1}},
                      Published{"dcgan_generator", 2305472, 25472, {28, 28, 1}},
                      Published{"dcgan_discriminator", 212865, 0, {1}},
                      Published{"transformer_classifier", 654462, 0, {2}}),
    [](const auto& info) { return std::string(info.param.file); });

}  // namespace
}  // namespace cairn::nn
