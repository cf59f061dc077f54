#include "job/model_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::job {
namespace {

using testing::HasSubstr;

TEST(ModelExpressionTest, CallsAreNested) {
  const auto parsed = ParseModelExpression(" d ( g( noise( 100 ) ), data,noise(2,1)) ");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->text, "d(g(noise(100)),data,noise(2,1))");
  EXPECT_EQ(parsed->model, "d");
  ASSERT_EQ(parsed->arguments.size(), 3);
  EXPECT_EQ(parsed->arguments[0].arguments[0].size, 100);
  EXPECT_EQ(parsed->arguments[1].kind, ModelExpression::Kind::kData);
  EXPECT_EQ(parsed->arguments[2].stream, 1);
}

TEST(ModelExpressionTest, ErrorsNameTheCharacter) {
  const auto error = [](const std::string& text) {
    return std::string(ParseModelExpression(text).status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("is missing"));
  EXPECT_THAT(error("d(data"), HasSubstr("character 7: ')' is missing"));
  EXPECT_THAT(error("d data"), HasSubstr("'(' is missing after d"));
  EXPECT_THAT(error("d(data))"), HasSubstr("after the expression"));
  EXPECT_THAT(error("d()"), HasSubstr("is missing"));
  EXPECT_THAT(error("d(noise(0))"), HasSubstr("not a whole number from 1"));
  EXPECT_THAT(error("d(noise(3,x))"), HasSubstr("stream"));
  EXPECT_THAT(error("d(noise)"), HasSubstr("'(' is missing after noise"));
  EXPECT_THAT(error("labels(data)"), HasSubstr("cannot be the name"));
  EXPECT_THAT(error(std::string(2000, 'd')), HasSubstr("at most 1000"));
  std::string deep = "data";
  for (int i = 0; i < 20; ++i) deep = "d(" + deep + ")";
  EXPECT_THAT(error(deep), HasSubstr("in each other"));
}

}  // namespace
}  // namespace cairn::job
