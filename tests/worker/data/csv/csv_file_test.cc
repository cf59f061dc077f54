#include "worker/data/csv/csv_file.h"

#include <google/protobuf/util/json_util.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

proto::CsvSource SourceOf(const std::string& json = "{}") {
  proto::CsvSource source;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &source).ok()) << json;
  return source;
}

// "b,a;..." of the columns, or the error.
std::string Read(const std::string& text, const proto::CsvSource& source,
                 const std::vector<std::string>& columns) {
  std::string seen;
  const auto visit = [&](int, const CsvRow& row, CsvProblems*) {
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
      seen += (row.has(i) ? std::string(row.field(i)) : "none") + ",";
    }
    seen.back() = ';';
    return absl::OkStatus();
  };
  const absl::Status status =
      ReadCsvBlocks(WriteDataFile("rows.csv", text), source, columns, CsvSplit(), visit,
                    [](int) { return absl::OkStatus(); });
  return status.ok() ? seen : std::string(status.message());
}

TEST(CsvFileTest, ColumnsAreFoundByNameWhereverTheyStand) {
  EXPECT_EQ(Read("a,b,c\n1,2,3\n4,5,6\n", SourceOf(), {"c", "a"}), "3,1;6,4;");
  EXPECT_EQ(Read(Gzip("a,b\n1,2\n"), SourceOf(), {"b"}), "2;");
  EXPECT_EQ(Read("1;2\n3;4\n", SourceOf(R"({"header": false, "delimiter": ";"})"), {"1"}), "2;4;");
}

TEST(CsvFileTest, ColumnsHaveTheNamesOfTheFirstLineOrNumbers) {
  const std::string path = WriteDataFile("names.csv", "x,\"y z\"\n1,2\n");
  EXPECT_THAT(*ReadCsvColumns(path, SourceOf()), ElementsAre("x", "y z"));
  EXPECT_THAT(*ReadCsvColumns(path, SourceOf(R"({"header": false})")), ElementsAre("0", "1"));
}

std::string InRows(const std::string& text) {
  return "data file " + ::testing::TempDir() + "/rows.csv: " + text;
}

TEST(CsvFileTest, WhatIsWrongIsSaidWithTheFileAndTheLine) {
  EXPECT_EQ(Read("a,b\n1,2\n3\n", SourceOf(), {"a"}),
            InRows("line 3: 1 field where the first line has 2; is the delimiter another, or a "
                   "quote missing?"));
  EXPECT_EQ(Read("a,b\n", SourceOf(), {"c"}),
            InRows("it has no column \"c\"; it has \"a\", \"b\""));
  EXPECT_EQ(Read("a,a\n", SourceOf(), {"a"}),
            InRows("line 1: two columns are called \"a\"; if this is not a header, set \"header\": "
                   "false, and the columns are called 0, 1 ..."));
  EXPECT_EQ(Read("\"a\n", SourceOf(), {"a"}),
            InRows("line 1, field 1: a quote is opened and not closed"));
  EXPECT_THAT(
      std::string(
          ReadCsvColumns(WriteDataFile("lines.csv", "\n\n"), SourceOf()).status().message()),
      EndsWith("lines.csv: it has only empty lines"));
}

TEST(CsvFileTest, AllThatIsWrongIsSaidUpToWhereTheFileIsNoCsv) {
  EXPECT_EQ(Read("a,b\n1\n1,2\n1,2,3\n\"x\n", SourceOf(), {"a", "c", "d"}),
            InRows("3 problems: (1) it has no columns \"c\", \"d\"; it has \"a\", \"b\"; (2) 2 "
                   "lines have another number of fields than the first line's 2: 1 field (line 2), "
                   "3 fields (line 4); is the delimiter another, or a quote missing?; (3) line "
                   "5: field 1: a quote is opened and not closed; is the file cut off?"));
}

TEST(CsvFileTest, AnotherDelimiterIsSeen) {
  const std::pair<const char*, const char*> delimiters[] = {
      {";", R"(the delimiter seems to be ";": set "delimiter": ";")"},
      {"\t", R"(the delimiter seems to be a tab: set "delimiter": "\t")"},
      {"|", R"(the delimiter seems to be "|": set "delimiter": "|")"}};
  for (const auto& [sign, hint] : delimiters) {
    const std::string d = sign;
    EXPECT_THAT(Read("a" + d + "b\n3,14" + d + "2\n", SourceOf(), {"a", "b"}),
                EndsWith(std::string("; ") + hint));
    // Here a quote stands where none may, if a comma were the delimiter.
    EXPECT_THAT(Read("\"a\"" + d + "\"b\"\n1" + d + "2\n", SourceOf(), {"a", "b"}),
                EndsWith(std::string("; ") + hint));
    EXPECT_THAT(Read("1" + d + "2\n", SourceOf(R"({"header": false})"), {"0", "1"}),
                EndsWith(std::string("; ") + hint));
    const auto labels = SourceOf(R"({"labels": [{"name": "b"}]})");
    EXPECT_THAT(
        std::string(
            ReadCsvColumns(WriteDataFile("d.csv", "a" + d + "b\n"), labels).status().message()),
        EndsWith(std::string("; ") + hint));
  }
  EXPECT_THAT(Read("a,b\n1,2\n", SourceOf(R"({"delimiter": ";"})"), {"a", "b"}),
              EndsWith(R"(; the delimiter seems to be ",": set "delimiter": ",")"));
  EXPECT_THAT(Read("a;b\n", SourceOf(), {"c"}), EndsWith("it has \"a;b\""));
}

TEST(CsvFileTest, AFileWithoutHeaderIsSeen) {
  EXPECT_THAT(
      Read("0.5,1.5,Yes\n", SourceOf(), {"y"}),
      EndsWith("; if the first line is not a header, set \"header\": false, and the columns "
               "are called 0, 1 ..."));
}

TEST(CsvFileTest, TheFirstLookPassesOverWhatIsWrong) {
  std::string seen;
  const auto visit = [&](const CsvRow& row) {
    EXPECT_FALSE(row.has(1));
    seen += std::string(row.field(0)) + ";";
    return absl::OkStatus();
  };
  const std::string path = WriteDataFile("rows.csv", "a,b\n1,2\n3\n4,5\n");
  EXPECT_TRUE(ReadCsvRows(path, SourceOf(), {"a", "c"}, visit).ok());
  EXPECT_EQ(seen, "1;4;");
  EXPECT_THAT(std::string(ReadCsvRows(path, SourceOf(), {"c"}, visit).message()),
              EndsWith("rows.csv: it has no column \"c\"; it has \"a\", \"b\""));
}

TEST(CsvFileTest, LabelsMustBeThereIfAllOtherColumnsAreFeatures) {
  const std::string path = WriteDataFile("names.csv", "a,b\n");
  const std::string labels = R"("labels": [{"name": "y"}])";
  EXPECT_THAT(std::string(ReadCsvColumns(path, SourceOf("{" + labels + "}")).status().message()),
              EndsWith("names.csv: it has no column \"y\"; it has \"a\", \"b\""));
  EXPECT_TRUE(
      ReadCsvColumns(path, SourceOf(R"({"features": [{"name": "a"}], )" + labels + "}")).ok());
}

TEST(CsvFileTest, SeveralThreadsSeeTheSameRows) {
  std::string text = "a,b\n";
  for (int i = 0; text.size() < (size_t{3} << 20); ++i) {
    text += std::to_string(i) + ",\"" + std::to_string(i % 7) + "\n\"\n";
  }
  const std::string path = WriteDataFile("rows.csv", text);
  std::string expected;
  ASSERT_TRUE(ReadCsvRows(path, SourceOf(), {"a"}, [&](const CsvRow& row) {
                expected += std::string(row.field(0)) + ";";
                return absl::OkStatus();
              }).ok());
  std::string seen;
  std::vector<std::string> slots(CsvScan::SlotsOf(3));
  const auto visit = [&](int slot, const CsvRow& row, CsvProblems*) {
    slots[slot] += std::string(row.field(0)) + ";";
    return absl::OkStatus();
  };
  const auto take = [&](int slot) {
    seen += slots[slot];
    slots[slot].clear();
    return absl::OkStatus();
  };
  ASSERT_TRUE(ReadCsvBlocks(path, SourceOf(), {"a"}, {.threads = 3}, visit, take).ok());
  EXPECT_TRUE(seen == expected);
  EXPECT_EQ(expected.substr(0, 8), "0;1;2;3;");
}

// Several blocks long: the first of them says it, and no thread reads the others.
TEST(CsvFileTest, AWrongHeaderIsTheErrorOfLongFilesToo) {
  const auto scan = [](const std::string& header, int threads) {
    std::string text = header;
    for (int i = 0; i < 1000; ++i) text += "1,2\n";
    const auto visit = [](int, const CsvRow& row, CsvProblems*) {
      return row.field(0).empty() ? absl::InternalError("empty") : absl::OkStatus();
    };
    const auto take = [](int) { return absl::OkStatus(); };
    return std::string(ReadCsvBlocks(WriteDataFile("rows.csv", text), SourceOf(), {"a"},
                                     {.threads = threads, .block_bytes = 256}, visit, take)
                           .message());
  };
  for (const int threads : {2, 5}) {
    EXPECT_THAT(scan("b,c\n", threads),
                EndsWith("rows.csv: it has no column \"a\"; it has \"b\", \"c\""));
    EXPECT_THAT(scan("a,a\n", threads),
                HasSubstr("rows.csv: line 1: two columns are called \"a\";"));
  }
}

TEST(CsvFileTest, TheVisitorsErrorGetsFileAndLine) {
  const absl::Status status = ReadCsvRows(WriteDataFile("rows.csv", "a\n\"1\n\"\n2\n"), SourceOf(),
                                          {"a"}, [](const CsvRow& row) {
                                            if (row.field(0) != "2") return absl::OkStatus();
                                            return BadField("a", row.field(0), "is two");
                                          });
  EXPECT_THAT(std::string(status.message()),
              EndsWith("rows.csv: line 4, column \"a\": \"2\" is two"));
}

TEST(CsvFileTest, NothingAndTheListedTextsAreMissing) {
  const proto::CsvSource source = SourceOf(R"({"missing": ["NA", "?"]})");
  EXPECT_TRUE(IsMissing("", source));
  EXPECT_TRUE(IsMissing("NA", source));
  EXPECT_FALSE(IsMissing("0", source));
  EXPECT_FALSE(IsMissing("NA", SourceOf()));
}

}  // namespace
}  // namespace cairn::worker
