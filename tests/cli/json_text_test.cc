#include "cli/json_text.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& text) {
  const auto json = ParseJson(text);
  return json.ok() ? "accepted" : std::string(json.status().message());
}

TEST(JsonTextTest, SyntaxErrorsSayLineAndColumn) {
  EXPECT_THAT(Refusal("{\n  \"a\": }"), HasSubstr("line 2, column 8"));
  EXPECT_THAT(Refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{\"a\": NaN}"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{\"a\": 1e999}"), HasSubstr("1e999"));
  EXPECT_THAT(Refusal("{} {}"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("{\"a\": \"\xff\"}"), HasSubstr("not JSON"));
}

TEST(JsonTextTest, KeysThatStandTwiceAreRefusedWithTheirPath) {
  EXPECT_EQ(Refusal(R"({"a": 1, "b": {"c": 1, "c": 2}})"), "b.c: appears twice; keep one of them");
  EXPECT_EQ(Refusal(R"({"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 2}]})"), "accepted");
}

TEST(JsonTextTest, DeepNestingIsRefused) {
  const auto nested = [](int levels, const std::string& open, const std::string& close) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += open;
    text += "1";
    for (int i = 0; i < levels; ++i) text += close;
    return text;
  };
  for (const auto& [open, close] :
       {std::pair<std::string, std::string>{"[", "]"}, {R"({"mix": [)", "]}"}}) {
    EXPECT_EQ(Refusal(nested(50, open, close)), "accepted");
    EXPECT_EQ(Refusal(nested(200000, open, close)), "its JSON is nested deeper than 100 levels");
  }
  EXPECT_EQ(Refusal(nested(100, "[", "]")), "accepted");
  EXPECT_EQ(Refusal(nested(101, "[", "]")), "its JSON is nested deeper than 100 levels");
  EXPECT_EQ(Refusal(std::string(100, '[') + std::string(100, ']')), "accepted");
  EXPECT_EQ(Refusal(std::string(101, '[') + std::string(101, ']')),
            "its JSON is nested deeper than 100 levels");
}

TEST(JsonTextTest, LongValuesAreCutShort) {
  EXPECT_EQ(ShortJson(nlohmann::json(std::string(1000, 'a'))).size(), 60);
  EXPECT_EQ(ShortJson(nlohmann::json("caf\xc3\xa9")), "\"caf\\u00e9\"");
}

TEST(JsonTextTest, CommentsAreIgnoredOnlyWhereTheyAreWanted) {
  const std::string text = "// first\n{\"a\": 1, /* second */ \"b\": \"// no comment\"}";
  EXPECT_FALSE(ParseJson(text).ok());
  const auto json = ParseJson(text, Comments::kIgnored);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["a"], 1);
  EXPECT_EQ((*json)["b"], "// no comment");
}

}  // namespace
}  // namespace cairn::cli
