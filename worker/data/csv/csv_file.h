#ifndef CAIRN_WORKER_DATA_CSV_CSV_FILE_H_
#define CAIRN_WORKER_DATA_CSV_CSV_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/csv/csv_parser.h"
#include "worker/data/csv/csv_problems.h"
#include "worker/data/csv/csv_scan.h"

namespace cairn::worker {

// The fields of a record in some columns, in the requested order.
struct CsvRow {
  const CsvRecord* record = nullptr;
  const std::vector<int>* positions = nullptr;  // Of the columns in the record; -1: missing.

  int64_t line() const { return record->line; }
  bool has(int column) const { return (*positions)[column] >= 0; }
  // The record must have the column.
  std::string_view field(int column) const { return record->fields[(*positions)[column]]; }
};

using VisitCsvRow = absl::FunctionRef<absl::Status(const CsvRow&)>;
// Called with the slot of the row's block (see CsvScan). May add problems of the row, with kinds
// and columns from 0.
using VisitCsvRowInSlot = absl::FunctionRef<absl::Status(int slot, const CsvRow&, CsvProblems*)>;

// The names of a file's columns: its first record or, without a header, their numbers.
// InvalidArgument, which names the file: it is empty, or a name appears twice, or a label column is
// missing and the source does not list its features.
absl::StatusOr<std::vector<std::string>> ReadCsvColumns(const std::string& path,
                                                        const proto::CsvSource& source);

// Visits the rows of a file, plain or gzip. Skips rows with a wrong number of fields or a quote
// that is not closed, and accepts missing columns: ReadCsvBlocks reports these. InvalidArgument,
// which names the file and the line: not CSV, all columns are missing, or the visitor's error.
absl::Status ReadCsvRows(const std::string& path, const proto::CsvSource& source,
                         const std::vector<std::string>& columns, VisitCsvRow visit);

// How a file is split.
struct CsvSplit {
  int threads = 1;  // The number that parse at a time.
  size_t block_bytes = size_t{1} << 20;
};

// The rows of a file that cannot be read.
struct CsvDamage {
  int64_t rows = 0;
  std::string first_error;  // Of the first row, with file and line.
  std::string all_errors;
  std::vector<int64_t> places;  // Among all rows of the file, from 0.
};

// Visits all rows block by block, like CsvScan::Run. The file must have all columns, and each row
// as many fields as the header. Continues after a problem, as long as the file can be parsed.
// InvalidArgument, which names the file: all problems, including the visitor's, in one message
// (CsvProblems). If `damage` is not null and all problems are of single rows, sets it instead.
absl::Status ReadCsvBlocks(const std::string& path, const proto::CsvSource& source,
                           const std::vector<std::string>& columns, const CsvSplit& split,
                           VisitCsvRowInSlot visit, CsvScan::Take take,
                           CsvDamage* damage = nullptr);

// The error of a field that ends the reading: 'column "age": "abc" REASON'.
absl::Status BadField(const std::string& column, std::string_view field, std::string_view reason);

// True if the field is a missing value.
bool IsMissing(std::string_view field, const proto::CsvSource& source);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_FILE_H_
