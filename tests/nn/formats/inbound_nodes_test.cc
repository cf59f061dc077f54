#include "nn/formats/inbound_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<std::vector<LayerCall>> Calls(const std::string& text) {
  const json document = json::parse(text);
  return ReadInboundNodes(JsonNode(&document, "inbound_nodes"));
}

// The layers of the inputs of the only call.
std::vector<std::string> InputsOf(const std::string& text) {
  const auto calls = Calls(text);
  EXPECT_TRUE(calls.ok()) << calls.status();
  EXPECT_EQ(calls->size(), 1u);
  std::vector<std::string> names;
  for (const TensorName& tensor : calls->at(0).inputs) names.push_back(tensor.layer);
  return names;
}

std::string ErrorOf(const std::string& text) { return std::string(Calls(text).status().message()); }

// A Keras 3 tensor.
std::string Tensor(const std::string& history) {
  return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 2], "keras_history": )" +
         history + "}}";
}

TEST(InboundNodesTest, ReadsKeras2Connections) {
  EXPECT_THAT(InputsOf(R"([[["a", 0, 0, {}]]])"), ElementsAre("a"));
  EXPECT_THAT(InputsOf(R"([[["a", 0, 0, {}], ["b", 0, 0, {}]]])"), ElementsAre("a", "b"));
  EXPECT_THAT(InputsOf(R"([["a", 0, 0]])"), ElementsAre("a"));
  EXPECT_THAT(Calls("[]").value(), IsEmpty());
}

TEST(InboundNodesTest, ReadsKeras3Calls) {
  const std::string a = Tensor(R"(["a", 0, 0])"), b = Tensor(R"(["b", 0, 0])");
  EXPECT_THAT(InputsOf(R"([{"args": [)" + a + R"(], "kwargs": {}}])"), ElementsAre("a"));
  EXPECT_THAT(InputsOf(R"([{"args": [[)" + a + "," + b + R"(]], "kwargs": {"mask": null}}])"),
              ElementsAre("a", "b"));
  EXPECT_THAT(InputsOf(R"([{"args": [)" + a + "," + b + "]}]"), ElementsAre("a", "b"));
}

TEST(InboundNodesTest, InitialStatesFollowTheSequenceAndHideItsMask) {
  const std::string a = Tensor(R"(["a", 0, 0])"), h = Tensor(R"(["s", 0, 1])"),
                    c = Tensor(R"(["s", 0, 2])"), mask = Tensor(R"(["not_equal", 0, 0])");
  const std::string call = R"([{"args": [)" + a + R"(], "kwargs": {)";
  EXPECT_THAT(InputsOf(call + R"("initial_state": [)" + h + "," + c + "]}}]"),
              ElementsAre("a", "s", "s"));
  const auto ignores_mask = [](const std::string& text) {
    return Calls(text).value().at(0).ignores_mask;
  };
  EXPECT_TRUE(ignores_mask(call + R"("initial_state": )" + h + "}}]"));
  EXPECT_TRUE(ignores_mask(R"([{"args": [)" + a + "," + h + R"(], "kwargs": {}}])"));
  EXPECT_FALSE(ignores_mask(call + R"("mask": )" + mask + R"(, "initial_state": )" + h + "}}]"));
  EXPECT_FALSE(ignores_mask(call + R"("initial_state": null}}])"));
  EXPECT_FALSE(ignores_mask(R"([{"args": [)" + a + R"(, null], "kwargs": {}}])"));
  // Keras 2 masks such a layer.
  EXPECT_FALSE(ignores_mask(R"([[["a", 0, 0, {}], ["s", 0, 1, {}]]])"));
}

TEST(InboundNodesTest, ReadsEveryCallOfALayerAndWhichOutputItTakes) {
  const auto calls = Calls(R"([[["a", 0, 0, {}]], [["b", 2, 1, {}]]])").value();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].inputs[0].layer, "b");
  EXPECT_EQ(calls[1].inputs[0].call, 2);
  EXPECT_EQ(calls[1].inputs[0].output, 1);
}

TEST(InboundNodesTest, ReadsWhatACallSaysBesideItsInputs) {
  EXPECT_TRUE(Calls(R"([[["a", 0, 0, {"training": false}]]])").value()[0].inference_only);
  EXPECT_FALSE(Calls(R"([[["a", 0, 0, {"training": null}]]])").value()[0].inference_only);
  EXPECT_TRUE(Calls(R"([[["a", 0, 0, {"training": true}]]])").value()[0].always_trains);
  const std::string attention =
      R"([[["q", 0, 0, {"key": ["k", 0, 0], "value": ["v", 0, 0], "use_causal_mask": true,
          "return_attention_scores": false}]]])";
  EXPECT_THAT(InputsOf(attention), ElementsAre("q", "v", "k"));
  EXPECT_THAT(Calls(attention).value()[0].flags, ElementsAre("use_causal_mask"));
  const std::string with_mask =
      R"([[["q", 0, 0, {"attention_mask": ["m", 0, 0], "value": ["v", 0, 0],
          "use_causal_mask": false, "return_attention_scores": true}]]])";
  EXPECT_THAT(InputsOf(with_mask), ElementsAre("q", "v", "m"));
  EXPECT_THAT(Calls(with_mask).value()[0].flags,
              ElementsAre("attention_mask", "return_attention_scores"));
  const std::string masked = R"([{"args": [)" + Tensor(R"(["a", 0, 0])") +
                             R"(], "kwargs": {"mask": )" + Tensor(R"(["m", 0, 0])") + "}}]";
  EXPECT_THAT(InputsOf(masked), ElementsAre("a"));
  EXPECT_EQ(Calls(masked).value()[0].masks[0].layer, "m");
}

TEST(InboundNodesTest, RefusesOtherCallArguments) {
  EXPECT_THAT(ErrorOf(R"([[["a", 0, 0, {"training": 1}]]])"),
              HasSubstr("call argument 'training' is not supported"));
  EXPECT_THAT(ErrorOf(R"([[["a", 0, 0, {"constants": ["s", 0, 0]}]]])"),
              HasSubstr("call argument 'constants' is not supported"));
  EXPECT_THAT(
      ErrorOf(R"([{"args": [)" + Tensor(R"(["a", 0, 0])") + R"(], "kwargs": {"training": 1}}])"),
      HasSubstr("inbound_nodes[0].kwargs.training: call argument"));
}

TEST(InboundNodesTest, RefusesWhatIsNoConnection) {
  EXPECT_THAT(ErrorOf("3"), HasSubstr("is not a list"));
  EXPECT_THAT(ErrorOf("[3]"), HasSubstr("inbound_nodes[0]: is not a list"));
  EXPECT_THAT(ErrorOf(R"([[["a"]]])"), HasSubstr("is not a connection"));
  EXPECT_THAT(ErrorOf(R"([[["a", "b", 0]]])"), HasSubstr("is not a whole number"));
  EXPECT_THAT(ErrorOf(R"([[["a", -1, 0]]])"), HasSubstr("has a negative number"));
  EXPECT_THAT(ErrorOf(R"([{"kwargs": {}}])"), HasSubstr("has no 'args'"));
  EXPECT_THAT(ErrorOf(R"([{"args": [1]}])"), HasSubstr("is not a tensor"));
  EXPECT_THAT(ErrorOf(R"([{"args": [[[1]]]}])"), HasSubstr("nested lists"));
}

TEST(InboundNodesTest, ReadsModelEndsInEveryFormOfKeras) {
  const json one = {"a", 0, 0}, list = {{"a", 0, 0}, {"b", 0, 0}}, named = {{"x", {"a", 0, 0}}};
  EXPECT_EQ(ReadConnections(JsonNode(&one, "m")).value()[0].layer, "a");
  EXPECT_EQ(ReadConnections(JsonNode(&list, "m")).value()[1].layer, "b");
  EXPECT_THAT(std::string(ReadConnections(JsonNode(&named, "m")).status().message()),
              HasSubstr("m: tensors in a dictionary have no order"));
}

}  // namespace
}  // namespace cairn::nn
