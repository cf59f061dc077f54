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

absl::StatusOr<std::vector<std::string>> Inbound(const std::string& text) {
  const json document = json::parse(text);
  return ReadInboundNodes("layer", JsonNode(&document, "inbound_nodes"));
}

std::string ErrorOf(const std::string& text) {
  return std::string(Inbound(text).status().message());
}

// A Keras 3 tensor.
std::string Tensor(const std::string& history) {
  return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 2], "keras_history": )" +
         history + "}}";
}

TEST(InboundNodesTest, ReadsKeras2Connections) {
  EXPECT_THAT(Inbound(R"([[["a", 0, 0, {}]]])").value(), ElementsAre("a"));
  EXPECT_THAT(Inbound(R"([[["a", 0, 0, {}], ["b", 0, 0, {}]]])").value(), ElementsAre("a", "b"));
  EXPECT_THAT(Inbound(R"([["a", 0, 0]])").value(), ElementsAre("a"));
  EXPECT_THAT(Inbound("[]").value(), IsEmpty());
}

TEST(InboundNodesTest, ReadsKeras3Calls) {
  const std::string a = Tensor(R"(["a", 0, 0])"), b = Tensor(R"(["b", 0, 0])");
  EXPECT_THAT(Inbound(R"([{"args": [)" + a + R"(], "kwargs": {}}])").value(), ElementsAre("a"));
  EXPECT_THAT(
      Inbound(R"([{"args": [[)" + a + "," + b + R"(]], "kwargs": {"mask": null}}])").value(),
      ElementsAre("a", "b"));
}

TEST(InboundNodesTest, RefusesSharedLayersByName) {
  EXPECT_EQ(ErrorOf(R"([[["a", 0, 0, {}]], [["b", 0, 0, {}]]])"),
            "inbound_nodes: layer 'layer' is called 2 times; shared layers are not supported");
  EXPECT_EQ(ErrorOf(R"([[["a", 1, 0, {}]]])"),
            "inbound_nodes[0][0][1]: is call 1 of layer 'a'; shared layers are not supported");
}

TEST(InboundNodesTest, RefusesASecondOutputOfALayer) {
  EXPECT_EQ(ErrorOf(R"([[["a", 0, 1, {}]]])"),
            "inbound_nodes[0][0][2]: is output 1 of layer 'a'; layers have one output here");
}

TEST(InboundNodesTest, RefusesCallArguments) {
  EXPECT_THAT(ErrorOf(R"([[["a", 0, 0, {"training": false}]]])"),
              HasSubstr("call argument 'training' is not supported"));
  EXPECT_THAT(
      ErrorOf(R"([{"args": [)" + Tensor(R"(["a", 0, 0])") + R"(], "kwargs": {"training": true}}])"),
      HasSubstr("inbound_nodes[0].kwargs.training: call argument"));
  const std::string a = Tensor(R"(["a", 0, 0])");
  EXPECT_THAT(ErrorOf(R"([{"args": [)" + a + "," + a + "]}]"), HasSubstr("has 2 arguments"));
}

TEST(InboundNodesTest, RefusesWhatIsNoConnection) {
  EXPECT_THAT(ErrorOf("3"), HasSubstr("is not a list"));
  EXPECT_THAT(ErrorOf("[3]"), HasSubstr("inbound_nodes[0]: is not a list"));
  EXPECT_THAT(ErrorOf(R"([[["a"]]])"), HasSubstr("is not a connection"));
  EXPECT_THAT(ErrorOf(R"([[["a", "b", 0]]])"), HasSubstr("is not a whole number"));
  EXPECT_THAT(ErrorOf(R"([{"kwargs": {}}])"), HasSubstr("has no 'args'"));
  EXPECT_THAT(ErrorOf(R"([{"args": [1]}])"), HasSubstr("is not a tensor"));
  EXPECT_THAT(ErrorOf(R"([{"args": [[[1]]]}])"), HasSubstr("nested lists"));
}

TEST(InboundNodesTest, ReadsModelEndsInEveryFormOfKeras) {
  const json one = {"a", 0, 0}, list = {{"a", 0, 0}, {"b", 0, 0}}, named = {{"x", {"a", 0, 0}}};
  EXPECT_THAT(ReadConnections(JsonNode(&one, "m")).value(), ElementsAre("a"));
  EXPECT_THAT(ReadConnections(JsonNode(&list, "m")).value(), ElementsAre("a", "b"));
  EXPECT_THAT(std::string(ReadConnections(JsonNode(&named, "m")).status().message()),
              HasSubstr("m: tensors in a dictionary have no order"));
}

}  // namespace
}  // namespace cairn::nn
