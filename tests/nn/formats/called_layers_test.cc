#include "nn/formats/called_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CalledLayer Layer(const std::string& name, const std::string& class_name,
                  std::vector<LayerCall> calls) {
  CalledLayer layer{.name = name, .calls = std::move(calls), .place = "layers." + name};
  layer.body.add_layers()->set_name(name);
  layer.body.mutable_layers(0)->set_class_name(class_name);
  layer.body.add_outputs(name);
  return layer;
}

CalledLayer Input() { return Layer("x", "InputLayer", {{}}); }

// A model of one input and two dense layers: "in", then "first", then "out".
CalledLayer Base(std::vector<LayerCall> calls) {
  CalledLayer base{.name = "base", .is_model = true, .calls = std::move(calls), .place = "base"};
  for (const char* name : {"in", "first", "out"}) {
    proto::LayerSpec& layer = *base.body.add_layers();
    layer.set_name(name);
    layer.set_class_name(std::string(name) == "in" ? "InputLayer" : "Dense");
  }
  base.body.mutable_layers(1)->add_inputs("in");
  base.body.mutable_layers(2)->add_inputs("first");
  base.body.add_inputs("in");
  base.body.add_outputs("out");
  return base;
}

LayerCall On(const std::string& layer, int64_t call = 0) {
  return {.inputs = {{.layer = layer, .call = call}}};
}

// "NAME(INPUTS)" and the layer whose variables it shares, for each layer.
std::vector<std::string> Expanded(const std::vector<CalledLayer>& layers, const TensorName& end) {
  proto::ModelSpec spec;
  const absl::Status status = ExpandCalls(layers, {end}, &spec);
  if (!status.ok()) return {std::string(status.message())};
  std::vector<std::string> texts;
  for (const proto::LayerSpec& layer : spec.layers()) {
    std::string text = layer.name() + "(";
    for (const std::string& input : layer.inputs()) text += input + ",";
    texts.push_back(text + ")" + (layer.shares().empty() ? "" : " = " + layer.shares()) +
                    (layer.infers() ? " infers" : ""));
  }
  texts.push_back("-> " + spec.outputs(0));
  return texts;
}

TEST(CalledLayersTest, ALayerThatIsCalledAgainSharesItsVariables) {
  EXPECT_THAT(Expanded({Input(), Layer("d", "Dense", {On("x"), On("d")})}, {"d", 1, 0}),
              ElementsAre("x()", "d(x,)", "d:1(d,) = d", "-> d:1"));
}

CalledLayer WithStates(const std::string& name, std::vector<LayerCall> calls) {
  CalledLayer layer = Layer(name, "GRU", std::move(calls));
  auto& config = *layer.body.mutable_layers(0)->mutable_config()->mutable_fields();
  config["return_state"].set_bool_value(true);
  return layer;
}

TEST(CalledLayersTest, EachUsedOutputOfALayerWithStatesIsALayer) {
  EXPECT_THAT(Expanded({Input(), WithStates("r", {On("x"), {.inputs = {{"x"}, {"r", 0, 1}}}})},
                       {"r", 1, 0}),
              ElementsAre("x()", "r(x,)", "r:1(x,r.1,) = r", "r.1(r,)", "r:1.0(r:1,)", "-> r:1.0"));
  EXPECT_THAT(Expanded({Input(), WithStates("r", {On("x")})}, {"r", 1, 0}),
              ElementsAre(HasSubstr("layer 'r' has no output 0 of call 1")));
}

TEST(CalledLayersTest, OnlyRecurrentLayersIgnoreMasks) {
  // A reader of calls cannot tell initial states from the tensors of an attention.
  for (const char* class_name :
       {"SimpleRNN", "LSTM", "GRU", "RNN", "Bidirectional", "MultiHeadAttention", "Attention"}) {
    LayerCall call = {.inputs = {{"x"}, {"x"}}};
    call.ignores_mask = true;
    proto::ModelSpec spec;
    ASSERT_TRUE(ExpandCalls({Input(), Layer("y", class_name, {call})}, {{"y"}}, &spec).ok());
    const bool is_attention = std::string(class_name).find("Attention") != std::string::npos;
    EXPECT_EQ(spec.layers(1).config().fields().contains("ignores_mask"), !is_attention)
        << class_name;
  }
}

// A model of an input and a GRU, whose outputs are the GRU's output and state.
CalledLayer Encoder(std::vector<LayerCall> calls) {
  CalledLayer encoder{.name = "e", .is_model = true, .calls = std::move(calls), .place = "e"};
  const absl::Status status =
      ExpandCalls({Layer("in", "InputLayer", {{}}), WithStates("r", {On("in")})},
                  {{"r", 0, 0}, {"r", 0, 1}}, &encoder.body);
  EXPECT_TRUE(status.ok()) << status;
  encoder.body.add_inputs("in");
  return encoder;
}

TEST(CalledLayersTest, UnusedOutputsOfACalledModelAreNoLayers) {
  EXPECT_THAT(Expanded({Input(), Encoder({On("x")})}, {"e", 0, 1}),
              ElementsAre("x()", "r(x,)", "r.1(r,)", "-> r.1"));
  // The calls use different outputs.
  const CalledLayer dense = Layer("d", "Dense", {{.inputs = {{"e", 0, 1}}}});
  EXPECT_THAT(
      Expanded({Input(), Encoder({On("x"), On("d")}), dense}, {"e", 1, 0}),
      ElementsAre("x()", "r(x,)", "r.1(r,)", "r:1(d,) = r", "r.0:1(r:1,)", "d(r.1,)", "-> r.0:1"));
}

TEST(CalledLayersTest, OutputsInACalledModelAreNamedAfterTheirLayer) {
  CalledLayer base = Base({On("first", 0)});
  proto::LayerSpec& state = *base.body.add_layers();
  state.set_name("first.1");
  state.set_class_name("LayerOutput");
  state.add_inputs("first");
  (*state.mutable_config()->mutable_fields())["output"].set_number_value(1);
  base.body.set_outputs(0, "first.1");
  EXPECT_THAT(Expanded({Input(), Layer("first", "Dense", {On("x")}), base}, {"base", 0, 0}),
              ElementsAre("x()", "first(x,)", "base/first(first,)", "out(base/first,)",
                          "base/first.1(base/first,)", "-> base/first.1"));
}

TEST(CalledLayersTest, ALayerReturnsStatesOrTheOneInItDoes) {
  proto::LayerSpec layer = WithStates("r", {}).body.layers(0);
  EXPECT_TRUE(ReturnsStates(layer));
  proto::LayerSpec outer;
  outer.set_class_name("Bidirectional");
  EXPECT_FALSE(ReturnsStates(outer));
  auto& inner = *(*outer.mutable_config()->mutable_fields())["layer"].mutable_struct_value();
  *(*inner.mutable_fields())["config"].mutable_struct_value() = layer.config();
  EXPECT_TRUE(ReturnsStates(outer));
}

TEST(CalledLayersTest, ACalledModelIsWrittenOutInItsPlace) {
  EXPECT_THAT(
      Expanded({Input(), Base({On("x")}), Layer("head", "Dense", {On("base")})}, {"head", 0, 0}),
      ElementsAre("x()", "first(x,)", "out(first,)", "head(out,)", "-> head"));
}

TEST(CalledLayersTest, FunctionalModelsAreCountedFromOneIfTheirReferencesSaySo) {
  EXPECT_THAT(
      Expanded({Input(), Base({On("x")}), Layer("head", "Dense", {On("base", 1)})}, {"head", 0, 0}),
      ElementsAre("x()", "first(x,)", "out(first,)", "head(out,)", "-> head"));
}

TEST(CalledLayersTest, TakenNamesGetTheModelsNameBeforeThem) {
  EXPECT_THAT(
      Expanded({Input(), Base({On("x")}), Layer("first", "Dense", {On("base")})}, {"first", 0, 0}),
      ElementsAre("x()", "base/first(x,)", "out(base/first,)", "first(out,)", "-> first"));
}

TEST(CalledLayersTest, AModelThatIsCalledTwiceSharesLayerByLayer) {
  LayerCall again = On("base");
  again.inference_only = true;
  EXPECT_THAT(Expanded({Input(), Base({On("x"), again})}, {"base", 1, 0}),
              ElementsAre("x()", "first(x,)", "out(first,)", "first:1(out,) = first infers",
                          "out:1(first:1,) = out infers", "-> out:1"));
}

TEST(CalledLayersTest, RefusesWhatDoesNotFitByPlaceAndName) {
  EXPECT_THAT(Expanded({Input(), Layer("d", "Dense", {On("z")})}, {"d", 0, 0}),
              ElementsAre("layers.d: there is no layer 'z'"));
  EXPECT_THAT(Expanded({Input(), Layer("d", "Dense", {On("x", 3)})}, {"d", 0, 0}),
              ElementsAre("layers.d: layer 'x' has no output 0 of call 3"));
  LayerCall two = On("x");
  two.inputs.push_back(two.inputs[0]);
  EXPECT_THAT(Expanded({Input(), Base({two})}, {"base", 0, 0}),
              ElementsAre("base: model 'base' takes 1 inputs, is called with 2"));
  CalledLayer through = Base({On("x")});
  through.body.set_outputs(0, "in");
  EXPECT_THAT(Expanded({Input(), through}, {"base", 0, 0}),
              ElementsAre(HasSubstr("has an output that is its input")));
}

}  // namespace
}  // namespace cairn::nn
