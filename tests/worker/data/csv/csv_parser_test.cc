#include "worker/data/csv/csv_parser.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using Records = std::vector<std::vector<std::string>>;

// Parses `text` in pieces of `piece` bytes; an error becomes the last record.
Records Parse(const std::string& text, size_t piece, char delimiter) {
  Records records;
  CsvParser parser(delimiter);
  for (size_t at = 0; at == 0 || at < text.size(); at += piece) {
    const absl::Status status =
        parser.Parse(std::string_view(text).substr(at, piece), at + piece >= text.size(),
                     [&](const CsvRecord& record) {
                       records.emplace_back(record.fields.begin(), record.fields.end());
                       records.back().push_back(std::to_string(record.line));
                       return absl::OkStatus();
                     });
    if (!status.ok()) {
      records.push_back({std::string(status.message())});
      break;
    }
  }
  return records;
}

// However the bytes arrive.
void ExpectRecords(const std::string& text, const Records& records, char delimiter = ',') {
  for (size_t piece = 1; piece <= text.size() + 1; ++piece) {
    EXPECT_EQ(Parse(text, piece, delimiter), records) << text << " in pieces of " << piece;
  }
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
  ExpectRecords("\xef\xbb\xbf\"a\",b\n", {{"a", "b", "1"}});
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
  ExpectRecords("a\rb", {{"line 1, field 2: a carriage return without a line feed"}});
  ExpectRecords(std::string("a,\0b", 4),
                {{"line 1, field 2: a zero byte: this is no text, or UTF-16"}});
  ExpectRecords(std::string("\xff\xfe\x61\0", 4),
                {{"line 1, field 1: the file is UTF-16; write it as UTF-8"}});
}

TEST(CsvParserTest, ARecordWithoutEndIsGivenUp) {
  const auto ignore = [](const CsvRecord&) { return absl::OkStatus(); };
  CsvParser parser(',');
  const std::string piece(size_t{1} << 20, 'x');
  absl::Status status = parser.Parse("\"", false, ignore);
  int pieces = 0;
  while (status.ok() && ++pieces < 100) status = parser.Parse(piece, false, ignore);
  EXPECT_EQ(pieces, 16);
  EXPECT_EQ(status.message(),
            "line 1, field 1: it does not end within 16 MiB; is a quote not closed?");
}

TEST(CsvParserTest, TheVisitorsErrorEndsIt) {
  CsvParser parser(',');
  int seen = 0;
  const absl::Status status = parser.Parse("1\n2\n3\n", true, [&](const CsvRecord&) {
    return ++seen == 2 ? absl::AbortedError("enough") : absl::OkStatus();
  });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace cairn::worker
