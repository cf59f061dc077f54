#include "worker/data/parquet/parquet_file.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// pyarrow wrote these files: see testdata/generate.py.
const std::string kFolder = "tests/worker/data/parquet/testdata/";

std::string TextOf(const FeatureValues& values) {
  std::string text;
  using Kind = FeatureValues::Kind;
  if (values.kind == Kind::kMissing) return "null";
  for (const auto bytes : values.bytes) absl::StrAppend(&text, std::string(bytes), " ");
  for (const auto number : values.floats) absl::StrAppend(&text, number, "f ");
  for (const auto number : values.doubles) absl::StrAppend(&text, number, "d ");
  for (const auto number : values.ints) absl::StrAppend(&text, number, " ");
  for (const auto null : values.nulls) {
    text.resize(text.size() - 2);
    absl::StrAppend(&text, "(", null, "null) ");
  }
  return text.empty() ? "none" : text.substr(0, text.size() - 1);
}

class ParquetFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = Open(kFolder + "empty.parquet");
    if (absl::IsFailedPrecondition(file.status())) GTEST_SKIP() << file.status().message();
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->parts().empty());
  }

  static std::string Contents(const std::string& name) {
    std::ifstream file(kFolder + name, std::ios::binary);
    std::ostringstream contents;
    contents << file.rdbuf();
    return contents.str();
  }

  absl::StatusOr<std::unique_ptr<ParquetFile>> Open(const std::string& path) {
    pools_.push_back(std::make_unique<DuckdbPool>(std::vector<std::string>{path}));
    return ParquetFile::Open(path, pools_.back().get());
  }

  // The values of a column, or the error. They are the same whether the columns are known before or
  // not.
  std::string Read(const std::string& path, const FeatureEncoder::Wanted& wanted,
                   const std::string& filter = "", int64_t first = 0, int64_t end = INT64_MAX) {
    const std::string text = ReadOnce(path, wanted, filter, first, end, /*knows_columns=*/true);
    EXPECT_EQ(ReadOnce(path, wanted, filter, first, end, /*knows_columns=*/false), text);
    return text;
  }

  std::string ReadOnce(const std::string& path, const FeatureEncoder::Wanted& wanted,
                       const std::string& filter, int64_t first, int64_t end, bool knows_columns) {
    const auto file = Open(path);
    if (!file.ok()) return std::string(file.status().message());
    if (knows_columns) {
      // An error, too, comes after the columns are known.
      EXPECT_FALSE((*file)->ForEachName("no such column", nullptr, nullptr).ok());
    }
    ParquetFile::Selection selection{nullptr, first, end};
    std::optional<job::RowFilter> parsed;
    if (!filter.empty()) selection.filter = &parsed.emplace(*job::ParseRowFilter(filter));
    std::string text;
    const absl::Status status = (*file)->ForEachRow(
        {wanted}, selection, [&](int64_t row, const std::vector<FeatureValues>& values) {
          absl::StrAppend(&text, row, ": ", TextOf(values[0]), "; ");
          return absl::OkStatus();
        });
    return status.ok() ? text : std::string(status.message());
  }

  std::string Types(const std::string& column, bool is_names = false, int64_t most = 9) {
    return Read(kFolder + "types.parquet", {column, most, is_names});
  }

  std::string Rows(const std::string& filter) {
    return Read(kFolder + "types.parquet", {"int8", 1}, filter);
  }

  std::vector<std::unique_ptr<DuckdbPool>> pools_;
};

TEST_F(ParquetFileTest, EveryTypeOfNumbersAndTextsIsRead) {
  EXPECT_EQ(Types("bool"), "0: 1; 1: 0; 2: 1; 3: 0; ");
  EXPECT_EQ(Types("int8"), "0: -128; 1: -1; 2: 0; 3: 127; ");
  EXPECT_EQ(Types("uint16"), "0: 0; 1: 1; 2: 2; 3: 65535; ");
  EXPECT_EQ(Types("int64"), "0: 0; 1: 1; 2: -2147483648; 3: 2147483647; ");
  EXPECT_EQ(Types("uint64"), "0: 0d; 1: 1d; 2: 2d; 3: 9.22337e+18d; ");
  EXPECT_EQ(Types("half"), "0: 0.5f; 1: 1f; 2: 2f; 3: 3f; ");
  EXPECT_EQ(Types("float"), "0: 0.25f; 1: 1f; 2: 2f; 3: 3f; ");
  EXPECT_EQ(Types("double"), "0: 0.125d; 1: 1e+300d; 2: 2d; 3: 3d; ");
  EXPECT_EQ(Types("decimal"), "0: 0.5d; 1: 1.25d; 2: 2d; 3: 3.75d; ");
  EXPECT_EQ(Types("name"), "0: rose; 1: été; 2: rose; 3: it's; ");
  EXPECT_EQ(Types("dictionary"), "0: a; 1: b; 2: b; 3: a; ");
  EXPECT_EQ(Types("bytes").substr(0, 6), std::string("0: \0\1;", 6));
  EXPECT_EQ(Types("a \"b\" c"), "0: 5; 1: 6; 2: 7; 3: 8; ");
  EXPECT_EQ(Types("null"), "0: null; 1: 1; 2: null; 3: 3; ");
  // As names.
  EXPECT_EQ(Types("int8", true), "0: -128; 1: -1; 2: 0; 3: 127; ");
  EXPECT_EQ(Types("bool", true), "0: true; 1: false; 2: true; 3: false; ");
}

TEST_F(ParquetFileTest, ListsAreRead) {
  EXPECT_EQ(Types("pair"), "0: 0f 1f; 1: 2f 3f; 2: 4f 5f; 3: 6f 7f; ");
  EXPECT_EQ(Types("ragged"), "0: 1; 1: none; 2: 2 3 4; 3: null; ");
  EXPECT_EQ(Types("ragged", false, 2), "0: 1; 1: none; 2: 2 3; 3: null; ");
  EXPECT_EQ(Types("names"), "0: a b; 1: b b; 2: a a; 3: c a; ");
  EXPECT_EQ(Types("square"), "0: 0 1 2 3; 1: 0 1 2 3; 2: 0 1 2 3; 3: 0 1 2 3; ");
  EXPECT_THAT(Types("uneven"),
              HasSubstr("types.parquet: row 0: column \"uneven\" has lists of different lengths"));
  EXPECT_EQ(Types("hole").substr(0, 12), "0: 0 (1null)");
}

TEST_F(ParquetFileTest, OtherColumnsAreNamed) {
  EXPECT_THAT(Types("day"), HasSubstr("column \"day\" has neither numbers nor texts"));
  EXPECT_THAT(Types("struct"), HasSubstr("column \"struct\" has neither numbers nor texts"));
  EXPECT_THAT(Types("x"), HasSubstr("it has no column \"x\"; it has a \"b\" c, bool, bytes, "));
  EXPECT_THAT(Types("INT8"), HasSubstr("it has no column \"INT8\""));
  // DuckDB's own.
  for (const char* const name :
       {"filename", "file_row_number", "file_index", "rowid", "FileName"}) {
    EXPECT_THAT(Types(name), HasSubstr(absl::StrCat("it has no column \"", name, "\"")));
  }
}

TEST_F(ParquetFileTest, AFilterChoosesRows) {
  EXPECT_EQ(Rows("int8 >= 0"), "2: 0; 3: 127; ");
  EXPECT_EQ(Rows("name = 'it''s' or int8 = -1"), "1: -1; 3: 127; ");
  EXPECT_EQ(Rows("not (name in ('rose', 'x')) and float <> 1"), "3: 127; ");
  EXPECT_EQ(Rows("\"null\" is null"), "0: -128; 2: 0; ");
  EXPECT_EQ(Rows("\"null\" is not null and \"null\" < 2.5"), "1: -1; ");
  EXPECT_EQ(Rows("bool = true"), "0: -128; 2: 0; ");
  EXPECT_EQ(Rows("day > '1970-01-03'"), "2: 0; 3: 127; ");
  EXPECT_EQ(Rows("int8 > 127"), "");
  EXPECT_THAT(Rows("z = 1"), HasSubstr("types.parquet: it has no column \"z\""));
  EXPECT_THAT(Rows("name > 5"), HasSubstr("Cannot compare values of type VARCHAR"));
  // No text ends its quotes.
  EXPECT_EQ(Rows("name = ''') OR (''1'' = ''1'"), "");
}

TEST_F(ParquetFileTest, PartsAreRowGroups) {
  const std::string path = kFolder + "groups.parquet";
  const auto file = Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT((*file)->parts(), ElementsAre(40000, 30000));
  EXPECT_EQ(Read(path, {"i", 1}, "", 40000, 40002), "40000: 40000; 40001: 40001; ");
  EXPECT_EQ(Read(path, {"y", 1}, "i >= 69998", 40000), "69998: 0; 69999: 1; ");
}

TEST_F(ParquetFileTest, FoldersOfThePathAreColumns) {
  const std::string folder =
      ::testing::TempDir() + "/year=2026/city=S%C3%A3o it's/none=__HIVE_DEFAULT_PARTITION__/[*]";
  fs::create_directories(folder);
  const std::string path = folder + "/a'?.parquet";
  std::ofstream(path, std::ios::binary) << Contents("types.parquet");
  EXPECT_EQ(Read(path, {"year", 1}, "int8 = 0"), "2: 2026d; ");
  EXPECT_EQ(Read(path, {"year", 1, true}, "int8 = 0"), "2: 2026; ");
  EXPECT_EQ(Read(path, {"city", 1, true}, "int8 = 0"), "2: São it's; ");
  EXPECT_EQ(Read(path, {"none", 1}, "int8 = 0"), "2: null; ");
  EXPECT_EQ(Read(path, {"int8", 1}, "year >= 2026 and city in ('São it''s') and int8 < 0"),
            "0: -128; 1: -1; ");
  EXPECT_EQ(Read(path, {"int8", 1}, "year < 2026 or city > 5 or none = 'x'"), "");
  EXPECT_EQ(Read(path, {"int8", 1}, "none is null and int8 = 0"), "2: 0; ");
}

TEST_F(ParquetFileTest, FoldersMayBeTruthValuesAndDates) {
  const std::string folder = ::testing::TempDir() + "/flag=true/date=2026-11-25";
  fs::create_directories(folder);
  const std::string path = folder + "/a.parquet";
  std::ofstream(path, std::ios::binary) << Contents("types.parquet");
  EXPECT_EQ(Read(path, {"int8", 1}, "flag = true and int8 = 0"), "2: 0; ");
  EXPECT_EQ(Read(path, {"int8", 1}, "flag in (false, true) and int8 = 0"), "2: 0; ");
  EXPECT_EQ(Read(path, {"int8", 1}, "flag = false or date = true"), "");
  // A text, which no model takes for a number, and not a null, which could have a default.
  EXPECT_EQ(Read(path, {"date", 1}, "int8 = 0"), "2: 2026-11-25; ");
}

TEST_F(ParquetFileTest, NamesAreCollected) {
  const auto file = Open(kFolder + "types.parquet");
  ASSERT_TRUE(file.ok()) << file.status();
  const auto names = [&](const std::string& column, const job::RowFilter* filter = nullptr) {
    std::set<std::string> found;
    const absl::Status status = (*file)->ForEachName(column, filter, [&](std::string_view name) {
      found.emplace(name);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return found;
  };
  EXPECT_THAT(names("name"), ElementsAre("it's", "rose", "été"));
  EXPECT_THAT(names("names"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names("null name"), ElementsAre("a", "b"));
  EXPECT_THAT(names("uint16"), ElementsAre("0", "1", "2", "65535"));
  const job::RowFilter filter = *job::ParseRowFilter("int8 < 0");
  EXPECT_THAT(names("name", &filter), ElementsAre("rose", "été"));
}

TEST_F(ParquetFileTest, NumbersOfRowsAreChecked) {
  std::string bytes = Contents("groups.parquet");
  // The last row group has 10000 rows, as Thrift writes them: 20000, in 7 bits per byte.
  const size_t at = bytes.rfind("\xa0\x9c\x01");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '\x9f';
  EXPECT_THAT(Read(WriteDataFile("negative.parquet", bytes), {"i", 1}),
              HasSubstr("negative.parquet: its metadata has a row group of -10000 rows"));
}

TEST_F(ParquetFileTest, DamagedFilesAreErrors) {
  EXPECT_THAT(Read(WriteDataFile("text.parquet", "id,name\n1,rose\n"), {"x", 1}),
              HasSubstr("text.parquet: Invalid Input Error: "));
  EXPECT_THAT(Read(::testing::TempDir() + "/none.parquet", {"x", 1}), HasSubstr("none.parquet"));
  const std::string whole = Contents("types.parquet");
  const std::string all = Types("int64");
  std::mt19937 random(1);
  const std::vector<std::string> columns = {"int64", "name", "ragged", "square", "decimal"};
  int errors = 0;
  for (int i = 0; i < 150; ++i) {
    std::string bytes = whole;
    if (i % 4 == 0) bytes.resize(random() % bytes.size());
    for (size_t flips = random() % 8; !bytes.empty() && flips > 0; --flips) {
      // Half of them are in the metadata at the end.
      const size_t span = i % 2 == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 4000);
      bytes[bytes.size() - 1 - random() % span] = static_cast<char>(random());
    }
    const std::string text =
        Read(WriteDataFile("damaged.parquet", bytes), {columns[random() % columns.size()], 9});
    errors += text.find("damaged.parquet") != std::string::npos;
  }
  // DuckDB verifies no checksums, so a wrong value may stay unnoticed.
  EXPECT_GT(errors, 40);
  EXPECT_EQ(Types("int64"), all);
}

}  // namespace
}  // namespace cairn::worker
