#include "worker/data/csv/csv_value.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

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

// Numbers of few digits go another way than those of many; strtod is the C library's own.
TEST(CsvValueTest, NumbersAreTheNearestDoubles) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100000; ++round) {
    std::string text = random() % 2 == 0 ? "-" : "";
    const int digits = 1 + static_cast<int>(random() % 18);
    const int point = static_cast<int>(random() % (digits + 2));
    for (int i = 0; i < digits; ++i) {
      if (i == point) text += '.';
      text += static_cast<char>('0' + random() % 10);
    }
    const std::optional<double> number = ParseNumber(text);
    const double expected = std::strtod(text.c_str(), nullptr);
    ASSERT_TRUE(number.has_value()) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(*number), std::bit_cast<uint64_t>(expected)) << text;
  }
}

TEST(CsvValueTest, TextThatIsNotANumberHasNoValue) {
  for (const char* text : {"", " ", "x", "1x", "1 2", "1,5", "--1", "+-1", "0x10", "1e999", "1e",
                           ".", "-", "-.", "1.2.3"}) {
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
  }
}

TEST(CsvValueTest, ADecimalCommaIsSeen) {
  EXPECT_EQ(WithDecimalPoint("3,14"), "3.14");
  EXPECT_EQ(WithDecimalPoint(" -0,5e3 "), "-0.5e3");
  EXPECT_EQ(WithDecimalPoint("1.234.567,8"), "1234567.8");
  for (const char* text : {"", ",", "3,", ",5", "3.14", "1,234,567", "a,5", "3,a", "3,1.4"}) {
    EXPECT_EQ(WithDecimalPoint(text), "") << text;
  }
}

TEST(CsvValueTest, FieldsInMessagesAreShortAndPrintable) {
  EXPECT_EQ(QuotedField("abc"), "\"abc\"");
  EXPECT_EQ(QuotedField("a\nb\xff"), "\"a\\nb\\xff\"");
  EXPECT_EQ(QuotedField("K\u00f6ln"), "\"K\u00f6ln\"");
  EXPECT_EQ(QuotedField(std::string(39, 'x') + "\u00f6"), "\"" + std::string(39, 'x') + "...\"");
  EXPECT_EQ(QuotedField(std::string(100, 'x')), "\"" + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace cairn::worker
