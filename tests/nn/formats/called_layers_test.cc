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
