#include "nn/formats/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  return std::string(ParseJson(text).status().message());
}

TEST(JsonTextTest, ReadsWhatItPrints) {
  const nlohmann::json json = {{"a", {1, 2.5, nullptr, true}}, {"b", "text"}};
  EXPECT_EQ(ParseJson(PrintJson(json)).value(), json);
}

TEST(JsonTextTest, SaysWhereMalformedTextGoesWrong) {
  EXPECT_THAT(ErrorOf("{\n \"a\": }"), HasSubstr("not JSON: line 2, column 7"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("{} x"), HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("[NaN]"), HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("[1e999]"), HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("[\"\xff\"]"), HasSubstr("not JSON"));
}

TEST(JsonTextTest, RefusesDeepNestingBeforeParsing) {
  EXPECT_TRUE(ParseJson(std::string(100, '[') + std::string(100, ']')).ok());
  EXPECT_THAT(ErrorOf(std::string(1000000, '[')), HasSubstr("nested deeper than 100 levels"));
  EXPECT_TRUE(
      ParseJson("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"").ok());
}

TEST(JsonTextTest, PrintsBytesThatAreNotUtf8AsReplacementCharacters) {
  EXPECT_EQ(PrintJson(std::string("a\xff")), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace cairn::nn
