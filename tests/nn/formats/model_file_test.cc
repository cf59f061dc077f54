#include "nn/formats/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "nn/formats/keras_json.h"
#include "nn/formats/onnx_file.h"
#include "tests/nn/formats/testdata.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelFileTest, AKerasArchitectureStandsAlone) {
  const std::string text = Testdata("keras3_sequential.json");
  EXPECT_TRUE(ModelWeightFiles(text, "model").value().empty());
  const ImportedModel model = ReadModel(text, {}).value();
  EXPECT_EQ(model.spec.layers_size(), 7);
  EXPECT_TRUE(model.weights.empty());
}

TEST(ModelFileTest, ALayersModelBringsItsWeights) {
  const std::string text = R"({"format": "layers-model", "modelTopology": )" +
                           Testdata("keras2_sequential.json") + R"(, "weightsManifest": [{
      "paths": ["w.bin"], "weights": [{"name": "a", "shape": [1], "dtype": "float32"}]}]})";
  EXPECT_THAT(ModelWeightFiles(text, "model").value(), ElementsAre("w.bin"));
  const ImportedModel model = ReadModel(text, {std::string(4, '\0')}).value();
  ASSERT_EQ(model.weights.size(), 1);
  EXPECT_THAT(model.weights[0].values, ElementsAre(0));
}

TEST(ModelFileTest, FilesOfKerasAreKnownByTheirContents) {
  for (const char* file : {"keras3_model.keras", "keras2_model.h5"}) {
    EXPECT_TRUE(ModelWeightFiles(Testdata(file), file).value().empty()) << file;
    EXPECT_GT(ReadModel(Testdata(file), {})->weights.size(), 0) << file;
  }
}

TEST(ModelFileTest, AnOnnxFileIsKnownByItsContents) {
  const proto::ModelSpec spec = ReadKerasJson(R"({"class_name": "Sequential", "config": {
      "name": "m", "layers": [{"class_name": "Dense", "config": {
      "name": "d", "units": 1, "batch_input_shape": [null, 2]}}]}})")
                                    .value();
  const std::string file =
      WriteOnnxFile(spec, {{"d/kernel", {2, 1}, {1, 2}}, {"d/bias", {1}, {3}}}).value()[0];
  EXPECT_TRUE(ModelWeightFiles(file, "named.anyhow").value().empty());
  const ImportedModel model = ReadModel(file, {}).value();
  ASSERT_EQ(model.weights.size(), 2);
  EXPECT_THAT(model.weights[0].values, ElementsAre(1, 2));
}

TEST(ModelFileTest, GarbageIsRefusedAsWhatItsNameSays) {
  for (const auto& [name, description] :
       {std::pair("a.onnx", "an ONNX file"), std::pair("a.KERAS", "a .keras file"),
        std::pair("a.h5", "a Keras .h5 file"), std::pair("a.hdf5", "a Keras .h5 file")}) {
    const auto refusal = [file = name](const char* bytes) {
      return std::string(ModelWeightFiles(bytes, file).status().message());
    };
    EXPECT_THAT(refusal("garbage"), HasSubstr(absl::StrCat("not ", description, ": it does not")));
    EXPECT_THAT(refusal(""), HasSubstr(absl::StrCat("not ", description, ": it is empty")));
  }
  EXPECT_THAT(std::string(ModelWeightFiles("garbage", "a.json").status().message()),
              HasSubstr("not JSON"));
}

TEST(ModelFileTest, SaysWhatItWantsInPlaceOfSomethingElse) {
  for (const char* text : {"{}", "[]", "3", R"({"name": "job"})"}) {
    EXPECT_THAT(std::string(ReadModel(text, {}).status().message()),
                HasSubstr(" nor a TF.js layers model (an object with 'modelTopology') nor a Keras "
                          "architecture (an object with 'class_name'"));
    EXPECT_FALSE(ModelWeightFiles(text, "model").ok());
  }
  EXPECT_THAT(std::string(ReadModel("\x89HDF", {}).status().message()),
              HasSubstr("not an HDF5 file"));
  EXPECT_THAT(std::string(ReadModel("PK\x03\x04", {}).status().message()),
              HasSubstr("damaged zip file"));
}

}  // namespace
}  // namespace cairn::nn
