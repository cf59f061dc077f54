#include "nn/formats/saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/formats/keras_json.h"
#include "proto/tensorflow.pb.h"

namespace cairn::nn {
namespace {

namespace tf = ::cairn::tensorflow;
using ::testing::HasSubstr;

// A Sequential model of an input (null, `shape`) and these layers.
proto::ModelSpec Chain(const std::string& shape, const std::string& layers) {
  return ReadKerasJson(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, )" +
                       shape + "]}}, " + layers + "]}}")
      .value();
}

std::string Refusal(const proto::ModelSpec& spec, absl::Span<const NamedTensor> weights = {}) {
  return std::string(WriteSavedModel(spec, weights).status().message());
}

TEST(SavedModelTest, TheSignatureHasTheNamesOfTheLayers) {
  const auto spec = Chain("2", R"({"class_name": "Dense", "config": {"name": "d", "units": 1,
                                   "activation": "tanh"}})");
  const auto files = WriteSavedModel(spec, {{"k", {2, 1}, {1, 2}}, {"b", {1}, {3}}});
  ASSERT_TRUE(files.ok()) << files.status();
  tf::SavedModel model;
  ASSERT_TRUE(model.ParseFromString(files->at(0)));
  EXPECT_EQ(model.saved_model_schema_version(), 1);
  const tf::MetaGraphDef& meta = model.meta_graphs(0);
  EXPECT_EQ(meta.meta_info_def().tags(0), "serve");
  std::string operators;
  for (const auto& node : meta.graph_def().node()) operators += node.op() + " ";
  EXPECT_EQ(operators, "Placeholder Const BatchMatMulV2 Const AddV2 Tanh Identity ");
  const tf::SignatureDef& signature = meta.signature_def().at("serving_default");
  EXPECT_EQ(signature.inputs().at("i").name(), meta.graph_def().node(0).name() + ":0");
  EXPECT_EQ(signature.inputs().at("i").tensor_shape().dim(0).size(), -1);
  EXPECT_EQ(signature.outputs().at("d").tensor_shape().dim(1).size(), 1);
  const float kernel[] = {1, 2};
  EXPECT_EQ(meta.graph_def().node(1).attr().at("value").tensor().tensor_content(),
            std::string(reinterpret_cast<const char*>(kernel), sizeof(kernel)));
}

TEST(SavedModelTest, RefusesByName) {
  EXPECT_EQ(Refusal(Chain("2, 2, 1", R"({"class_name": "RandomCrop",
                                   "config": {"name": "e", "height": 1, "width": 1}})")),
            "layer 'e' (RandomCrop): a SavedModel export does not have this layer");
  const auto steps = Chain("1001, 1", R"({"class_name": "SimpleRNN", "config": {"name": "r",
                                          "units": 1, "use_bias": false}})");
  const std::vector<NamedTensor> weights = {{"k", {1, 1}, {1}}, {"u", {1, 1}, {1}}};
  EXPECT_THAT(Refusal(steps, weights), HasSubstr("layer 'r' (SimpleRNN)"));
  EXPECT_THAT(Refusal(steps, weights), HasSubstr("at most 1000 steps"));
  EXPECT_THAT(Refusal(steps), HasSubstr("there are 0 weights"));
}

}  // namespace
}  // namespace cairn::nn
