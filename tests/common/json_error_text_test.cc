#include "common/json_error_text.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace cairn {
namespace {

std::string ErrorOf(const std::string& text) {
  try {
    return nlohmann::json::parse(text).dump();
  } catch (const nlohmann::json::exception& error) {
    return JsonErrorText(error.what());
  }
}

TEST(JsonErrorTextTest, KeepsTheLocationAndTheReason) {
  EXPECT_EQ(ErrorOf("{\n \"a\": "),
            "line 2, column 7: unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(ErrorOf("{a"),
            "line 1, column 2: invalid literal; last read: '{a'; expected string literal");
  EXPECT_EQ(ErrorOf("[1] x"),
            "line 1, column 5: invalid literal; last read: '1] x'; expected end of input");
}

TEST(JsonErrorTextTest, AnEmptyTextIsReportedAsEmpty) { EXPECT_EQ(ErrorOf(""), "it is empty"); }

TEST(JsonErrorTextTest, TheQuotedInputIsTruncated) {
  EXPECT_EQ(ErrorOf("[\"" + std::string(10'000'000, 'a')),
            "line 1, column 10000003: invalid string: missing closing quote; last read: '\"" +
                std::string(59, 'a') + "...'");
}

TEST(JsonErrorTextTest, AnOverflowIsReportedWithoutTheExceptionsLabel) {
  EXPECT_EQ(ErrorOf("[1e999]"), "number overflow parsing '1e999'");
}

}  // namespace
}  // namespace cairn
