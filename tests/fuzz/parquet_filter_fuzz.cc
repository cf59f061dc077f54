// Filters of Parquet files, and folders of their paths that are columns. The first line of an input
// is such a folder, the rest the filter. DuckDB, which evaluates it, must understand every filter
// that the job file's parser accepts, and choose the rows that RowCondition chooses by the values
// that were read. Without DuckDB's library the filter is only parsed.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "common/check.h"
#include "job/data_formats/row_filter.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/data/parquet/parquet_file.h"
#include "worker/data/row_condition.h"

namespace cairn::fuzz {
namespace {

namespace fs = std::filesystem;
using worker::FeatureValues;
using worker::ParquetFile;
using Value = worker::RowCondition::Value;

// Four rows with columns of all types.
constexpr char kFile[] = "tests/worker/data/parquet/testdata/types.parquet";
// The longest name of a folder.
constexpr size_t kFolderMax = 255;

bool IsName(std::string_view folder) {
  return !folder.empty() && folder.size() <= kFolderMax && folder != "." && folder != ".." &&
         folder.find('/') == std::string_view::npos && folder.find('\0') == std::string_view::npos;
}

// The file below a folder of this name; null without DuckDB's library.
ParquetFile* FileIn(const std::string& folder) {
  // Opening one takes long, and most inputs change the filter. The last one is never closed: the
  // program's end destroys DuckDB's thread-local variables before static ones.
  static std::string last;
  static auto& pool = *new worker::DuckdbPool({fs::absolute(kFile).string()});
  static auto& file = *new std::unique_ptr<ParquetFile>;
  if (file != nullptr && folder == last) return file.get();
  const char* const temporary = std::getenv("TEST_TMPDIR");
  const fs::path path = fs::path(temporary != nullptr ? temporary : "/tmp") /
                        ("parquet_filter." + std::to_string(getpid())) / folder;
  fs::create_directories(path);
  fs::create_symlink(fs::absolute(kFile), path / "types.parquet");
  auto opened = ParquetFile::Open((path / "types.parquet").string(), &pool);
  fs::remove_all(path.parent_path());
  CAIRN_CHECK(opened.ok() || absl::IsFailedPrecondition(opened.status()));
  last = folder;
  file = opened.ok() ? *std::move(opened) : nullptr;
  return file.get();
}

// None: a list.
std::optional<Value> ValueOf(const FeatureValues& values, bool is_folder) {
  Value value;
  if (values.kind == FeatureValues::Kind::kMissing) return value;
  if (values.count != 1) return std::nullopt;
  switch (values.kind) {
    case FeatureValues::Kind::kBytes:
      value.kind = is_folder ? Value::Kind::kField : Value::Kind::kText;
      value.text = values.bytes[0];
      break;
    case FeatureValues::Kind::kFloats:
      value.kind = Value::Kind::kFloat;
      value.number = values.floats[0];
      break;
    case FeatureValues::Kind::kDoubles:
      value.kind = Value::Kind::kDouble;
      value.number = values.doubles[0];
      break;
    default:
      value.kind = Value::Kind::kInt;
      value.whole = values.ints[0];
  }
  return value;
}

using Rows = std::set<int64_t>;

// The rows by RowCondition; none if a value cannot be compared.
std::optional<Rows> Expected(ParquetFile* file, const job::RowFilter& filter,
                             std::string_view folder_column) {
  const worker::RowCondition condition({filter});
  std::vector<worker::FeatureEncoder::Wanted> wanted;
  for (const std::string& column : condition.columns()) {
    wanted.push_back({column, 2, /*is_names=*/column == folder_column});
  }
  Rows rows;
  bool is_comparable = true;
  const absl::Status status = file->ForEachRow(
      wanted, {}, [&](int64_t row, const std::vector<FeatureValues>& all) -> absl::Status {
        std::vector<Value> values;
        for (size_t i = 0; i < all.size(); ++i) {
          const auto value = ValueOf(all[i], wanted[i].is_names);
          if (!value) return absl::InvalidArgumentError("a list");
          values.push_back(*value);
        }
        const auto passed = condition.Passed(values);
        is_comparable &= passed.ok();
        if (passed.ok() && *passed == 1) rows.insert(row);
        return absl::OkStatus();
      });
  return status.ok() && is_comparable ? std::optional(rows) : std::nullopt;
}

}  // namespace

bool RunInput(std::string_view input) {
  const size_t end = input.find('\n');
  if (end == std::string_view::npos || !IsName(input.substr(0, end))) return false;
  const std::string folder(input.substr(0, end));
  const auto filter = job::ParseRowFilter(input.substr(end + 1));
  if (!filter.ok()) return false;
  ParquetFile* const file = FileIn(folder);
  if (file == nullptr) return true;
  Rows rows;
  const absl::Status status =
      file->ForEachRow({}, {&*filter}, [&rows](int64_t row, const std::vector<FeatureValues>&) {
        rows.insert(row);
        return absl::OkStatus();
      });
  if (!status.ok()) {
    CAIRN_CHECK(absl::IsInvalidArgument(status));
    CAIRN_CHECK(!absl::StrContains(status.message(), "Parser Error"));
    return true;
  }
  const auto expected = Expected(file, *filter, folder.substr(0, folder.find('=')));
  CAIRN_CHECK(!expected || *expected == rows);
  return true;
}

}  // namespace cairn::fuzz
