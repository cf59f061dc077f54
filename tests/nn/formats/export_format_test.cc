#include "nn/formats/export_format.h"

#include <gtest/gtest.h>

#include "nn/formats/model_file.h"

namespace cairn::nn {
namespace {

TEST(ExportFormatTest, AFolderIsALayersModelWhoseLastFileIsTheModel) {
  const ExportFormat* format = FindExportFormat("");
  ASSERT_NE(format, nullptr);
  EXPECT_TRUE(format->is_folder());
  const std::vector<NamedTensor> weights = {{"w", {2}, {1, 2}}};
  const auto contents = format->write({}, weights);
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_EQ(contents->size(), format->files.size());
  EXPECT_EQ(contents->front(), std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  EXPECT_EQ(ModelWeightFiles(contents->back(), "model.json").value(),
            std::vector<std::string>{"weights.bin"});
}

TEST(ExportFormatTest, TheNamesSayTheExtensions) {
  EXPECT_EQ(ExportFormatNames(),
            ".keras (Keras), .onnx (ONNX), .safetensors (safetensors, weights only), .ckpt "
            "(TensorFlow checkpoint, weights only), .savedmodel (TensorFlow SavedModel, a folder), "
            "or a folder (TF.js layers model)");
  EXPECT_EQ(FindExportFormat(".KERAS")->files.size(), 1);
  EXPECT_TRUE(FindExportFormat(".savedmodel")->is_folder());
  EXPECT_FALSE(FindExportFormat(".ckpt")->is_folder());
}

TEST(ExportFormatTest, OtherExtensionsHaveNoFormat) {
  EXPECT_EQ(FindExportFormat(".h5"), nullptr);
  EXPECT_EQ(FindExportFormat(".json"), nullptr);
}

}  // namespace
}  // namespace cairn::nn
