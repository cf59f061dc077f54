#include "nn/formats/onnx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

TEST(OnnxReaderTest, IsKnownByItsFirstFields) {
  EXPECT_TRUE(IsOnnxFile(OnnxText({2}).file()));
  for (const char* other : {"", "\x08\x08", "{}", "PK\x03\x04", "\x08\x08zz"}) {
    EXPECT_FALSE(IsOnnxFile(other)) << other;
  }
}

TEST(OnnxReaderTest, ImagesHaveTheirChannelsLast) {
  OnnxText text({3, 8, 6});
  text.Weight("w", {4, 3, 1, 1});
  text.Node("op_type: 'Conv' input: ['x', 'w'] output: 'y'");
  const auto model = text.Read();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto& shape = model->spec.layers(0).config().fields().at("batch_shape").list_value();
  EXPECT_EQ(shape.values(1).number_value(), 8);
  EXPECT_EQ(shape.values(3).number_value(), 3);
}

TEST(OnnxReaderTest, NamesOperatorsThatAreNotSupported) {
  OnnxText text({2});
  text.Node("name: 'loop' op_type: 'Loop' input: 'x' output: 'y'");
  EXPECT_THAT(text.Layers(),
              HasSubstr("node 'loop' (Loop): this operator is not supported; supported: Add, "));
  OnnxText foreign({2});
  foreign.Node("name: 'f' op_type: 'Relu' domain: 'com.microsoft' input: 'x' output: 'y'");
  EXPECT_THAT(foreign.Layers(), HasSubstr("operators of the domain 'com.microsoft'"));
}

TEST(OnnxReaderTest, RefusesGraphsThatAreNotInOrder) {
  OnnxText text({2});
  text.Node("name: 'r' op_type: 'Relu' input: 'y' output: 'y'");
  EXPECT_THAT(text.Layers(), HasSubstr("node 'r' (Relu): its input 'y' is not a value before it"));
  OnnxText open({2});
  open.model()
      .mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_param("width");
  open.Node("op_type: 'Relu' input: 'x' output: 'y'");
  EXPECT_THAT(open.Layers(), HasSubstr("input 'x': axis 1 has no fixed size ('width')"));
  const std::string file = open.file();
  EXPECT_THAT(std::string(ReadOnnxFile(file.substr(0, file.size() - 3), {}).status().message()),
              HasSubstr("cut off, damaged"));
}

}  // namespace
}  // namespace cairn::nn
