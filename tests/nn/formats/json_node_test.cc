#include "nn/formats/json_node.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(JsonNodeTest, KeepsThePathOfWhatItReaches) {
  const nlohmann::json json = {{"layers", {{{"units", "ten"}}}}};
  const JsonNode root(&json, "model");
  const JsonNode units =
      root.Member("layers").value().Elements().value()[0].Member("units").value();
  EXPECT_EQ(units.String().value(), "ten");
  EXPECT_EQ(Message(units.Integer().status()),
            "model.layers[0].units: is not a whole number, but \"ten\"");
}

TEST(JsonNodeTest, SaysWhatIsMissingOrOfTheWrongKind) {
  const nlohmann::json json = {{"a", 1}};
  const JsonNode root(&json, "model");
  EXPECT_EQ(Message(root.Member("b").status()), "model: has no 'b'");
  EXPECT_EQ(Message(root.Elements().status()), "model: is not a list, but {\"a\":1}");
  const JsonNode a = root.Member("a").value();
  EXPECT_EQ(Message(a.Member("b").status()), "model.a: is not an object, but 1");
  EXPECT_EQ(Message(a.String().status()), "model.a: is not a string, but 1");
}

TEST(JsonNodeTest, FindTakesNullAndOtherKindsForAbsent) {
  const nlohmann::json json = {{"a", nullptr}, {"b", 1}};
  const JsonNode root(&json, "model");
  EXPECT_FALSE(root.Find("a").has_value());
  EXPECT_FALSE(root.Find("c").has_value());
  EXPECT_FALSE(root.Find("b")->Find("d").has_value());
}

TEST(JsonNodeTest, ReadsWholeNumbersOfSixtyThreeBits) {
  const nlohmann::json json = {-5, 9223372036854775807, 9223372036854775808u, 1.5};
  const auto elements = JsonNode(&json, "n").Elements().value();
  EXPECT_EQ(elements[0].Integer().value(), -5);
  EXPECT_EQ(elements[1].Integer().value(), 9223372036854775807);
  EXPECT_EQ(Message(elements[2].Integer().status()), "n[2]: is too large");
  EXPECT_FALSE(elements[3].Integer().ok());
}

TEST(JsonNodeTest, MembersComeInTheOrderOfTheirNames) {
  const nlohmann::json json = {{"b", 1}, {"a", 2}};
  const auto members = JsonNode(&json, "m").Members();
  ASSERT_EQ(members.size(), 2);
  EXPECT_EQ(members[0].first, "a");
  EXPECT_EQ(members[1].first, "b");
  const nlohmann::json number = 3;
  EXPECT_TRUE(JsonNode(&number, "m").Members().empty());
}

}  // namespace
}  // namespace cairn::nn
