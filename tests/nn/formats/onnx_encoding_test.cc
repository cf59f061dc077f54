#include "nn/formats/onnx_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

TEST(OnnxEncodingTest, RefusesTheOperatorsOfAnEncodingAlone) {
  OnnxText equal({2});
  equal.Node("name: 'e' op_type: 'Equal' input: ['x', 'x'] output: 'y'");
  EXPECT_THAT(equal.Layers(),
              HasSubstr("node 'e' (Equal): is only read as a part of an encoding of categories"));
}

// A graph of texts x and a LabelEncoder with these attributes.
OnnxText Lookup(const std::string& attributes) {
  OnnxText text({2});
  auto& input = *text.model().mutable_graph()->mutable_input(0);
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::STRING);
  text.Node("name: 'l' op_type: 'LabelEncoder' domain: 'ai.onnx.ml' input: 'x' output: 'y' " +
            attributes);
  return text;
}

TEST(OnnxEncodingTest, TheVocabularyOfALabelEncoderIsInTheOrderOfItsIndices) {
  const auto model = Lookup(
                         "attribute { name: 'keys_strings' strings: ['b', '[UNK]'] } "
                         "attribute { name: 'values_int64s' ints: [2, 1] } "
                         "attribute { name: 'default_int64' i: 0 }")
                         .Read();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto& fields = model->spec.layers(1).config().fields();
  EXPECT_EQ(fields.at("vocabulary").list_value().values(0).string_value(), "[UNK]");
  EXPECT_EQ(fields.at("vocabulary").list_value().values(1).string_value(), "b");
  EXPECT_EQ(fields.at("num_oov_indices").number_value(), 1);
  // Otherwise Keras would take the first term for that of other texts.
  EXPECT_EQ(fields.at("oov_token").string_value(), "");
}

TEST(OnnxEncodingTest, RefusesALabelEncoderThatIsNoVocabulary) {
  const std::string keys = "attribute { name: 'keys_strings' strings: ['a', 'b'] } ";
  EXPECT_THAT(Lookup(keys).Layers(),
              HasSubstr("node 'l' (LabelEncoder): maps no texts to numbers"));
  EXPECT_THAT(
      Lookup(keys + "attribute { name: 'values_floats' floats: [1, 1] } ").Layers(),
      HasSubstr("has the index 1 for the text \"b\"; a StringLookup has the indices 1 to 2"));
  EXPECT_THAT(Lookup(keys + "attribute { name: 'values_floats' floats: [0, 1] } "
                            "attribute { name: 'default_float' f: 7 }")
                  .Layers(),
              HasSubstr("gives other texts the index 7; a StringLookup has 0"));
  EXPECT_THAT(Lookup("attribute { name: 'keys_int64s' ints: [1] }").Layers(),
              HasSubstr("attribute 'keys_int64s' is not supported"));
}

}  // namespace
}  // namespace cairn::nn
