#include "worker/data/csv/csv_parser.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using Records = std::vector<std::vector<std::string>>;

// All records, behind whose fields stands their line; an error becomes the last one.
Records Parse(const std::string& text, char delimiter, int64_t line) {
  Records records;
  CsvParser parser(delimiter);
  const absl::Status status = parser.Parse(text, line, [&](const CsvRecord& record) {
    records.emplace_back(record.fields.begin(), record.fields.end());
    records.back().push_back(std::to_string(record.line));
    return absl::OkStatus();
  });
  if (!status.ok()) records.push_back({std::string(status.message())});
  return records;
}

void ExpectRecords(const std::string& text, const Records& records, char delimiter = ',') {
  EXPECT_EQ(Parse(text, delimiter, 1), records) << text;
}

// What Python's csv module reads from these texts; behind the fields stands the line.
TEST(CsvParserTest, ReadsWhatRfc4180Says) {
  ExpectRecords("a,b\n1,2\n", {{"a", "b", "1"}, {"1", "2", "2"}});
  ExpectRecords("a,b\r\n1,2", {{"a", "b", "1"}, {"1", "2", "2"}});
  ExpectRecords("\"a,1\",\"b \"\"c\"\"\",\"\"\n", {{"a,1", "b \"c\"", "", "1"}});
  ExpectRecords("\"two\nlines\",x\n3,4\n", {{"two\nlines", "x", "1"}, {"3", "4", "3"}});
  ExpectRecords("\"two\r\nlines\"\r\n3\r\n", {{"two\r\nlines", "1"}, {"3", "3"}});
  ExpectRecords(",\n,,\n", {{"", "", "1"}, {"", "", "", "2"}});
  ExpectRecords("a\n\n\nb\n", {{"a", "1"}, {"b", "4"}});
  ExpectRecords("\"\"\n", {{"", "1"}});
  ExpectRecords("a;\"b;c\";d,e", {{"a", "b;c", "d,e", "1"}}, ';');
  ExpectRecords("a\tb\n", {{"a", "b", "1"}}, '\t');
  ExpectRecords("", {});
}

TEST(CsvParserTest, EveryDefectIsSaidWithItsLineAndField) {
  ExpectRecords("a,b\n1,x\"y\n",
                {{"a", "b", "1"},
                 {"line 2, field 2: a quote inside of a field that does not begin with one"}});
  ExpectRecords("\"a\"b\n",
                {{"line 1, field 1: something follows a closing quote; a quote inside of a quoted "
                  "field is doubled"}});
  ExpectRecords("a\n\"b\nc", {{"a", "1"}, {"line 2, field 1: a quote is opened and not closed"}});
  // On the last line it is not an error, since the lines before it are whole.
  std::vector<std::pair<size_t, bool>> seen;
  for (const char* text : {"a,b\n1,\"x", "a,b\n1,\"x\n"}) {
    ASSERT_TRUE(CsvParser(',')
                    .Parse(text, 1,
                           [&](const CsvRecord& record) {
                             seen.emplace_back(record.fields.size(), record.unclosed);
                             return absl::OkStatus();
                           })
                    .ok());
    EXPECT_EQ(seen, (std::vector<std::pair<size_t, bool>>{{2, false}, {1, true}}));
    seen.clear();
  }
  ExpectRecords("a\rb", {{"line 1, field 2: a carriage return without a line feed"}});
  ExpectRecords(std::string("a,\0b", 4),
                {{"line 1, field 2: a zero byte: this is no text, or UTF-16"}});
}

TEST(CsvParserTest, LinesAreCountedFromTheFirst) {
  EXPECT_EQ(Parse("a\n\"b\nc\"\nd\n", ',', 7), (Records{{"a", "7"}, {"b\nc", "8"}, {"d", "10"}}));
}

TEST(CsvParserTest, OneParserReadsManyTexts) {
  CsvParser parser(',');
  std::vector<std::string> seen;
  const auto visit = [&](const CsvRecord& record) {
    seen.insert(seen.end(), record.fields.begin(), record.fields.end());
    return absl::OkStatus();
  };
  EXPECT_TRUE(parser.Parse("a,\"b\"\"\"\n", 1, visit).ok());
  EXPECT_FALSE(parser.Parse("\"c\nd", 2, visit).ok());
  EXPECT_TRUE(parser.Parse("d", 3, visit).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b\"", "d"}));
}

TEST(CsvParserTest, TheVisitorsErrorEndsIt) {
  CsvParser parser(',');
  int seen = 0;
  const absl::Status status = parser.Parse("1\n2\n3\n", 1, [&](const CsvRecord&) {
    return ++seen == 2 ? absl::AbortedError("enough") : absl::OkStatus();
  });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace cairn::worker
