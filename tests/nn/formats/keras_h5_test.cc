#include "nn/formats/keras_h5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/testdata.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Names(const ImportedModel& model) {
  std::vector<std::string> names;
  for (const NamedTensor& weight : model.weights) names.push_back(weight.name);
  return names;
}

// A batch normalization and a Dense in a nested model, whose file lists trained variables first.
TEST(KerasH5Test, AModelOfKeras2HasItsWeightsInTheOrderOfItsVariables) {
  const auto model = ReadKerasH5(Testdata("keras2_model.h5"), {});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Names(*model),
              ElementsAre("bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance",
                          "dense/kernel", "dense/bias", "dense_9/kernel", "dense_9/bias"));
  for (size_t i = 0; i < model->weights.size(); ++i) {
    EXPECT_EQ(model->weights[i].values[0], 10 * i) << model->weights[i].name;
  }
  EXPECT_EQ(model->spec.layers().rbegin()->config().fields().at("activation").string_value(),
            "hard_sigmoid_keras2");
}

TEST(KerasH5Test, WeightsAloneKeepTheirNames) {
  const auto model = ReadKerasH5(Testdata("keras2_weights.h5"), {});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->spec.layers().empty());
  ASSERT_EQ(model->weights.size(), 8);
  EXPECT_EQ(model->weights[7].name, "dense_9/bias:0");
  EXPECT_THAT(model->weights[7].values, ElementsAre(70));
}

TEST(KerasH5Test, OtherFilesAreRefused) {
  EXPECT_THAT(
      std::string(
          ReadKerasH5(ReadFile("tests/fuzz/corpus/hdf5_file/no_model"), {}).status().message()),
      HasSubstr("an HDF5 file without 'model_config' and 'layer_names'"));
  EXPECT_FALSE(ReadKerasH5("\x89HDF", {}).ok());
  std::string renamed = Testdata("keras2_model.h5");
  renamed.replace(renamed.find("dense/bias:0"), 12, "dense/best:0");
  EXPECT_THAT(std::string(ReadKerasH5(renamed, {}).status().message()),
              HasSubstr("HDF5 file: model_weights/inner/dense/b"));
}

}  // namespace
}  // namespace cairn::nn
