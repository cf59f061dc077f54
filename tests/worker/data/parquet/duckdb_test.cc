#include "worker/data/parquet/duckdb.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/faulty_files.h"

namespace cairn::worker {
namespace {

using ::testing::HasSubstr;

constexpr char kTypes[] = "tests/worker/data/parquet/testdata/types.parquet";
constexpr char kGroups[] = "tests/worker/data/parquet/testdata/groups.parquet";

class DuckdbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = pool_.Open(open(kTypes, O_RDONLY | O_CLOEXEC));
    if (absl::IsFailedPrecondition(opened.status())) {
      EXPECT_THAT(std::string(opened.status().message()), HasSubstr("deploy/install_parquet.sh"));
      GTEST_SKIP() << opened.status().message();
    }
    ASSERT_TRUE(opened.ok()) << opened.status();
    duckdb_ = *std::move(opened);
  }

  std::string Error(const std::string& sql) {
    return std::string(duckdb_->Query(sql, nullptr, nullptr).message());
  }

  std::unique_ptr<Duckdb> OpenFile(const std::string& path) {
    auto opened = pool_.Open(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  DuckdbPool pool_{{kTypes, kGroups}};
  std::unique_ptr<Duckdb> duckdb_;
};

TEST_F(DuckdbTest, ResultsHaveColumnsAndChunks) {
  std::vector<std::string> texts;
  const absl::Status status = duckdb_->Query(
      "SELECT 'a' AS short, repeat('long', 5) AS long, [[1, 2], NULL]::BIGINT[][] AS lists "
      "UNION ALL SELECT NULL, '', []",
      [](const std::vector<DuckdbColumn>& columns) {
        EXPECT_EQ(columns.size(), 3u);
        EXPECT_EQ(columns[0].name, "short");
        EXPECT_EQ(columns[0].type, DuckdbType::kVarchar);
        EXPECT_EQ(columns[2].type, DuckdbType::kBigint);
        EXPECT_EQ(columns[2].lists, 2);
        return absl::OkStatus();
      },
      [&](const std::vector<DuckdbVector>& columns, uint64_t rows) {
        for (uint64_t row = 0; row < rows; ++row) {
          texts.push_back(columns[0].is_null(row) ? "null"
                                                  : std::string(DuckdbBytes(columns[0], row)));
          texts.emplace_back(DuckdbBytes(columns[1], row));
        }
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "longlonglonglonglong", "null", ""}));
}

TEST_F(DuckdbTest, OnlyItsFileCanBeRead) {
  EXPECT_EQ(Error("SELECT * FROM read_parquet('" + duckdb_->file() + "')"), "");
  const std::string barred = "file system operations are disabled by configuration";
  EXPECT_THAT(Error("SELECT * FROM read_text('/etc/passwd')"), HasSubstr(barred));
  EXPECT_THAT(
      Error("SELECT * FROM read_parquet('tests/worker/data/parquet/testdata/empty.parquet')"),
      HasSubstr(barred));
  const std::string out = ::testing::TempDir() + "/out.csv";
  EXPECT_THAT(Error("COPY (SELECT 1) TO '" + out + "'"), HasSubstr(barred));
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_THAT(Error("ATTACH '" + out + "'"), HasSubstr(barred));
  EXPECT_NE(Error("INSTALL httpfs"), "");
  EXPECT_NE(Error("LOAD httpfs"), "");
  EXPECT_THAT(Error("SET enable_external_access = true"), HasSubstr("Cannot"));
  EXPECT_THAT(Error("SET memory_limit = '100GiB'"), HasSubstr("locked"));
}

// Of DuckDB's own count, which is in a file's metadata.
std::string RowsSql(const Duckdb& duckdb) {
  return "SELECT count(*) FROM read_parquet(" + SqlText(duckdb.file()) + ")";
}

int64_t RowsOf(Duckdb* duckdb) {
  int64_t count = -1;
  const absl::Status status =
      duckdb->Query(RowsSql(*duckdb), nullptr, [&](const auto& columns, uint64_t rows) {
        EXPECT_EQ(rows, 1u);
        std::memcpy(&count, columns[0].data, sizeof count);
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  return count;
}

bool IsClosed(const std::string& path) {
  std::error_code error;
  return absl::StrContains(std::filesystem::read_symlink(path, error).string(), "no data file");
}

TEST_F(DuckdbTest, ADatabaseHasTheNextFileAndNoOther) {
  const int64_t rows = RowsOf(duckdb_.get());
  const std::string path = duckdb_->file();
  duckdb_.reset();
  EXPECT_TRUE(IsClosed(path));
  duckdb_ = OpenFile(kGroups);
  EXPECT_EQ(duckdb_->file(), path) << "the database was not kept";
  EXPECT_FALSE(IsClosed(path));
  const int64_t other_rows = RowsOf(duckdb_.get());
  EXPECT_NE(other_rows, rows);
  // Two at the same time are two databases.
  const std::unique_ptr<Duckdb> second = OpenFile(kTypes);
  EXPECT_NE(second->file(), path);
  EXPECT_EQ(RowsOf(second.get()), rows);
  EXPECT_EQ(RowsOf(duckdb_.get()), other_rows);
}

TEST_F(DuckdbTest, AFileWithoutANameIsReadAndOneWithAnotherNameIsNot) {
  const int64_t rows = RowsOf(duckdb_.get());
  const std::string copy = ::testing::TempDir() + "/copy.parquet";
  std::filesystem::copy_file(kTypes, copy, std::filesystem::copy_options::overwrite_existing);
  duckdb_ = OpenFile(copy);
  EXPECT_THAT(Error(RowsSql(*duckdb_)), HasSubstr("disabled by configuration"));
  duckdb_ = OpenFile(copy);
  std::filesystem::remove(copy);
  EXPECT_EQ(RowsOf(duckdb_.get()), rows);
}

TEST_F(DuckdbTest, OneWithAFailedQueryIsNotKept) {
  const std::string path = duckdb_->file();
  EXPECT_NE(Error("SELECT x FROM nothing"), "");
  duckdb_.reset();
  EXPECT_FALSE(IsClosed(path)) << "its descriptor is open";
  EXPECT_GT(RowsOf(OpenFile(kTypes).get()), 0);
}

TEST_F(DuckdbTest, NoMoreThanAFewAreKept) {
  duckdb_.reset();
  std::vector<std::unique_ptr<Duckdb>> open;
  for (int i = 0; i < 10; ++i) open.push_back(OpenFile(kTypes));
  std::vector<std::string> paths;
  for (const auto& each : open) paths.push_back(each->file());
  open.clear();
  EXPECT_EQ(std::count_if(paths.begin(), paths.end(), IsClosed), 8);
}

TEST_F(DuckdbTest, ErrorsAreStatuses) {
  EXPECT_THAT(Error("SELEC 1"), HasSubstr("syntax error"));
  EXPECT_THAT(Error(std::string("SELECT '\0'", 11)), HasSubstr("NUL"));
  // While rows are computed.
  EXPECT_THAT(Error("SELECT CAST(x AS BIGINT) FROM (VALUES ('1'), ('b')) v(x)"),
              HasSubstr("Could not convert string 'b'"));
  const absl::Status large =
      duckdb_->Query("SELECT list(range) FROM range(1000000000)", nullptr, nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(large)) << large;
  const absl::Status stopped =
      duckdb_->Query("SELECT * FROM range(1000000000)", nullptr,
                     [](const auto&, uint64_t) { return absl::CancelledError("enough"); });
  EXPECT_TRUE(absl::IsCancelled(stopped)) << stopped;
  EXPECT_EQ(Error("SELECT 1"), "");
}

TEST_F(DuckdbTest, OnlyAnErrorOfTheDiskThatMayPassIsUnavailable) {
  const std::string rules = ::testing::TempDir() + "/duckdb_test_rules";
  const cairn::testing::FaultyFiles faults(rules);
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  const std::string sql =
      absl::StrCat("SELECT * FROM read_parquet(", SqlText(duckdb_->file()), ")");
  for (const auto& [error, code] : {std::pair(EIO, absl::StatusCode::kUnavailable),
                                    {ESTALE, absl::StatusCode::kUnavailable},
                                    {EACCES, absl::StatusCode::kInvalidArgument}}) {
    const int fired = faults.fired();
    faults.Set({{"read", "types.parquet", error}});
    const absl::Status status = duckdb_->Query(sql, nullptr, nullptr);
    EXPECT_GT(faults.fired(), fired);
    EXPECT_EQ(status.code(), code) << status;
  }
  faults.Clear();
  EXPECT_EQ(Error(sql), "");
  unsetenv("CAIRN_FAULTY_FILES");
}

TEST(DuckdbSqlTest, NamesAndTextsAreQuoted) {
  EXPECT_EQ(SqlName("a \"b\""), "\"a \"\"b\"\"\"");
  EXPECT_EQ(SqlText("it's"), "'it''s'");
}

}  // namespace
}  // namespace cairn::worker
