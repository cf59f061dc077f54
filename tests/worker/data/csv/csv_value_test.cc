#include "worker/data/csv/csv_value.h"

#include <cmath>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

TEST(CsvValueTest, ReadsDecimalNumbersWithBlanksAround) {
  EXPECT_EQ(ParseNumber("0.1"), 0.1);
  EXPECT_EQ(ParseNumber(" -3\t"), -3);
  EXPECT_EQ(ParseNumber("+2.5e3"), 2500);
  EXPECT_EQ(ParseNumber(".5"), 0.5);
  EXPECT_EQ(ParseNumber("9007199254740993"), 9007199254740992.0) << "rounded to even";
  EXPECT_EQ(ParseNumber("1e-400"), 0);
  EXPECT_TRUE(std::isnan(*ParseNumber("nan")));
  EXPECT_EQ(ParseNumber("-inf"), -INFINITY);
}

TEST(CsvValueTest, WhatIsNoNumberIsNone) {
  for (const char* text : {"", " ", "x", "1x", "1 2", "1,5", "--1", "+-1", "0x10", "1e999", "1e"}) {
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
  }
}

TEST(CsvValueTest, FieldsInMessagesAreShortAndPrintable) {
  EXPECT_EQ(QuotedField("abc"), "\"abc\"");
  EXPECT_EQ(QuotedField("a\nb\xff"), "\"a\\nb\\xff\"");
  EXPECT_EQ(QuotedField(std::string(100, 'x')), "\"" + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace cairn::worker
