#include "worker/data/csv/csv_problems.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

const std::vector<std::string>& Labels() {
  static const auto* const labels = new std::vector<std::string>{"No", "Yes"};
  return *labels;
}

CsvReason NoNumber(const std::string& column) {
  return {column, "is not a number", "are not numbers", "write numbers"};
}

CsvReason NoLabel() { return {"y", "is no label", "are no labels", "", &Labels()}; }

TEST(CsvProblemsTest, ASingleValueIsSaidWithItsLine) {
  CsvProblems problems;
  EXPECT_TRUE(problems.empty());
  problems.Add(0, 0, 3, "x", [] { return NoNumber("age"); });
  EXPECT_FALSE(problems.empty());
  EXPECT_EQ(problems.Text(), "line 3, column \"age\": \"x\" is not a number; write numbers");
}

TEST(CsvProblemsTest, ValuesThatAreWrongInOneWayAreOneProblem) {
  CsvProblems problems;
  for (const int line : {3, 5, 8}) {
    problems.Add(0, 0, line, line == 5 ? "z" : "x", [] { return NoNumber("age"); });
  }
  EXPECT_EQ(problems.Text(),
            "column \"age\": 3 values are not numbers: \"x\" (2 times, first on line 3), \"z\" "
            "(line 5); write numbers");
}

TEST(CsvProblemsTest, SeveralProblemsAreNumberedInTheOrderOfTheirLines) {
  CsvProblems problems;
  problems.Add(4, 0, 2, "x", [] { return NoNumber("e"); });
  problems.Add(-1, 0, 3, "3 fields", [] {
    return CsvReason{"", "where the first line has 9", "have other numbers of fields", ""};
  });
  problems.Add(0, 0, 4, "", [] { return NoNumber("a"); });
  problems.Add(-1, 0, 5, "1 field", [] { return CsvReason(); });
  problems.AddText("it has no column \"q\"");
  EXPECT_EQ(problems.Text(),
            "4 problems: (1) it has no column \"q\"; (2) line 2, column \"e\": \"x\" is not a "
            "number; write numbers; (3) 2 lines have other numbers of fields: 3 fields (line 3), 1 "
            "field (line 5); (4) line 4, column \"a\": \"\" is not a number; write numbers");
}

TEST(CsvProblemsTest, ANameThatIsKnownButForCaseOrBlanksIsSaidToBe) {
  const auto text = [](const std::string& value) {
    CsvProblems problems;
    problems.Add(0, 0, 2, value, NoLabel);
    return problems.Text();
  };
  EXPECT_EQ(text("yes"),
            "line 2, column \"y\": \"yes\" is no label, it is \"Yes\" but for letter case");
  EXPECT_EQ(text(" No"),
            "line 2, column \"y\": \" No\" is no label, it is \"No\" but for blanks around it");
  EXPECT_EQ(text("NO "),
            "line 2, column \"y\": \"NO \" is no label, it is \"No\" but for letter "
            "case and blanks around it");
  EXPECT_EQ(text("maybe"), "line 2, column \"y\": \"maybe\" is no label");
  CsvProblems several;
  for (const char* value : {"yes", "no", "yes"}) several.Add(0, 0, 2, value, NoLabel);
  EXPECT_EQ(several.Text(),
            "column \"y\": 3 values are no labels: \"yes\" (2 times, first on line 2; it is "
            "\"Yes\" but for letter case), \"no\" (line 2; it is \"No\" but for letter case)");
}

TEST(CsvProblemsTest, BeyondTenNamesAndThreeOtherValuesTheyAreCounted) {
  CsvProblems names;
  CsvProblems numbers;
  for (int i = 0; i < 25; ++i) {
    names.Add(0, 0, i + 1, std::to_string(i % 12), NoLabel);
    numbers.Add(0, 0, i + 1, std::to_string(i % 5), [] { return NoNumber("a"); });
  }
  EXPECT_EQ(names.Text(),
            "column \"y\": 25 values are no labels: \"0\" (first on line 1), \"1\" (first on "
            "line 2), \"2\" (first on line 3), \"3\" (first on line 4), \"4\" (first on line 5), "
            "\"5\" (first on line 6), \"6\" (first on line 7), \"7\" (first on line 8), \"8\" "
            "(first on line 9), \"9\" (first on line 10), and 4 more");
  EXPECT_EQ(numbers.Text(),
            "column \"a\": 25 values are not numbers: \"0\" (5 times, first on line 1), \"1\" (5 "
            "times, first on line 2), \"2\" (5 times, first on line 3), and 10 more; write "
            "numbers");
}

TEST(CsvProblemsTest, BeyondTenProblemsTheyAreCounted) {
  CsvProblems problems;
  for (int i = 0; i < 100; ++i) {
    const int column = i % 13;
    problems.Add(column, 0, i, "x", [&] { return NoNumber(std::to_string(column)); });
  }
  const std::string text = problems.Text();
  EXPECT_EQ(text.substr(0, 24), "13 problems: (1) column ");
  EXPECT_NE(text.find("(10) column \"9\""), std::string::npos);
  EXPECT_EQ(text.find("(11)"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 12), "; and 3 more");
}

TEST(CsvProblemsTest, WhyTheFileEndsIsSaidLast) {
  CsvProblems problems;
  problems.AddEnd("line 9, field 1: a quote is opened and not closed");
  EXPECT_EQ(problems.Text(), "line 9, field 1: a quote is opened and not closed");
  for (int i = 0; i < 11; ++i) problems.AddText("text");
  EXPECT_NE(
      problems.Text().find("; (11) line 9, field 1: a quote is opened and not closed; and 1 more"),
      std::string::npos);
}

// However the file is cut into parts.
TEST(CsvProblemsTest, PartsAppendedSayWhatTheWholeSays) {
  const auto add = [](int i, CsvProblems* problems) {
    const int column = i * i % 14;
    problems->Add(column, 0, i, std::to_string(i % 9),
                  [&] { return NoNumber(std::to_string(column)); });
  };
  CsvProblems whole;
  for (int i = 0; i < 300; ++i) add(i, &whole);
  for (const int size : {1, 7, 100}) {
    CsvProblems all;
    CsvProblems part;
    for (int i = 0; i < 300; ++i) {
      add(i, &part);
      if (i % size != size - 1 && i != 299) continue;
      all.Append(&part);
      EXPECT_TRUE(part.empty());
    }
    EXPECT_EQ(all.Text(), whole.Text()) << size;
  }
}

TEST(CsvProblemsTest, LongValuesAreKeptAndShownInPart) {
  CsvProblems problems;
  problems.Add(0, 0, 1, std::string(1 << 20, 'x'), [] { return NoNumber("a"); });
  EXPECT_EQ(problems.Text(), "line 1, column \"a\": \"" + std::string(40, 'x') +
                                 "...\" is not a number; write numbers");
}

}  // namespace
}  // namespace cairn::worker
