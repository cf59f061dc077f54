#ifndef CAIRN_WORKER_DATA_PARQUET_PARQUET_FILE_H_
#define CAIRN_WORKER_DATA_PARQUET_PARQUET_FILE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "job/data_formats/row_filter.h"
#include "worker/data/features/feature_encoder.h"
#include "worker/data/features/feature_values.h"
#include "worker/data/parquet/duckdb.h"

namespace cairn::worker {

// A Parquet file. Its columns are those of its contents and, for each folder NAME=VALUE of its
// path, a column of texts with this value. All errors name the file; InvalidArgument: its contents
// are not what is read. Not thread-safe.
//
// A file that was opened by Open refuses columns that DuckDB reads wrongly: decimals of more than
// 38 digits, and names that differ only in case.
class ParquetFile {
 public:
  // Reads its parts. `path` is one of the pool's, which must outlive the file. Errors as
  // OpenDataFile and DuckdbPool::Open. InvalidArgument also: the metadata have a number of rows
  // that no file has.
  static absl::StatusOr<std::unique_ptr<ParquetFile>> Open(const std::string& path,
                                                           DuckdbPool* pool);
  // As Open, of a file whose parts are known: nothing is read before its rows are.
  static absl::StatusOr<std::unique_ptr<ParquetFile>> OpenPlanned(const std::string& path,
                                                                  DuckdbPool* pool);
  ParquetFile(const ParquetFile&) = delete;
  ParquetFile& operator=(const ParquetFile&) = delete;

  // The numbers of rows of its parts, which can be read alone: some row groups that follow each
  // other. A file without rows has no parts.
  const std::vector<int64_t>& parts() const { return parts_; }

  // Which rows are read.
  struct Selection {
    const job::RowFilter* filter = nullptr;  // Null: all.
    int64_t first = 0;
    int64_t end = INT64_MAX;
    // Calls `on_left_out` for a row for which one of these is not true, after `passed` that are, in
    // place of OnRow. Null: there are none.
    const std::vector<job::RowFilter>* counted = nullptr;
    std::function<absl::Status(int64_t row, int passed)> on_left_out = nullptr;
  };
  // Called for a row, whose number counts all rows of the file from 0.
  using OnRow = std::function<absl::Status(int64_t row, const std::vector<FeatureValues>& values)>;

  // Reads the columns `wanted`, of which there are no more values than it wants, and calls `on_row`
  // for each row in the order of the file. Reads only these columns, and those of the filter, of
  // the row groups that may have selected rows. An InvalidArgument of `on_row` gets the row's
  // number.
  absl::Status ForEachRow(const std::vector<FeatureEncoder::Wanted>& wanted,
                          const Selection& selection, const OnRow& on_row);

  // Calls `on_name` for each distinct value of a column, or of the items of its lists, as text.
  // Nulls are none. An error of `on_name` ends the query.
  using OnName = std::function<absl::Status(std::string_view name)>;
  absl::Status ForEachName(const std::string& column, const job::RowFilter* filter,
                           const OnName& on_name);

 private:
  struct Column {
    DuckdbType type = DuckdbType::kVarchar;
    int lists = 0;
    bool is_folder = false;            // Of the path.
    std::optional<std::string> value;  // Of the path; empty for a null.
  };

  ParquetFile(std::string path, std::unique_ptr<Duckdb> duckdb)
      : path_(std::move(path)), duckdb_(std::move(duckdb)) {}
  // Once; adds the columns of the contents.
  absl::Status ReadColumns();
  absl::Status ReadParts();
  // Finds the columns that DuckDB reads wrongly.
  absl::Status ReadSchema();
  // InvalidArgument: it is one of them.
  absl::Status CheckName(const std::string& name) const;
  void AddFolders();
  // With the file's name, and an error's path of the descriptor replaced by it.
  absl::Status Named(const absl::Status& status) const;
  absl::Status Query(const std::string& sql, const Duckdb::Columns& columns,
                     const Duckdb::Rows& rows);
  // As ForEachRow, while the columns are not known. nullopt: they must be; no row was read.
  std::optional<absl::Status> ForEachRowAsItIs(const std::vector<FeatureEncoder::Wanted>& wanted,
                                               const Selection& selection, const OnRow& on_row);
  // `sql` selects the wanted columns, with counted filters how many are true, and the row's number.
  // An error of `on_columns` ends it.
  absl::Status ReadRows(const std::string& sql, const std::vector<FeatureEncoder::Wanted>& wanted,
                        const Selection& selection, const Duckdb::Columns& on_columns,
                        const OnRow& on_row);
  absl::StatusOr<const Column*> Find(const std::string& name) const;
  absl::StatusOr<std::string> SqlOf(const job::RowFilter& filter) const;
  absl::StatusOr<std::string> WhereOf(const Selection& selection) const;
  // The number of filters that are true before the first one that is not.
  absl::StatusOr<std::string> PassedOf(const std::vector<job::RowFilter>& filters) const;
  absl::StatusOr<std::string> ExpressionOf(const FeatureEncoder::Wanted& wanted) const;
  absl::Status Malformed(const std::string& reason) const;

  const std::string path_;
  const std::unique_ptr<Duckdb> duckdb_;
  bool knows_columns_ = false;
  std::map<std::string, Column> columns_;  // Of the path, and of the contents once they are known.
  std::vector<int64_t> parts_;
  // Of the schema, once it is read: the digits of columns of large decimals, and the columns by
  // their names in lower case.
  std::map<std::string, int64_t> large_decimals_;
  std::map<std::string, std::vector<std::string>> names_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_PARQUET_PARQUET_FILE_H_
