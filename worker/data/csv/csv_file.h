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

// A record's fields as some columns, in the order in which they were asked for.
struct CsvRow {
  const CsvRecord* record = nullptr;
  const std::vector<int>* positions = nullptr;  // Of the columns in the record; -1: it has it not.

  int64_t line() const { return record->line; }
  bool has(int column) const { return (*positions)[column] >= 0; }
  // Only of a column that it has.
  std::string_view field(int column) const { return record->fields[(*positions)[column]]; }
};

using VisitCsvRow = absl::FunctionRef<absl::Status(const CsvRow&)>;
// Is told the slot of the row's block, see CsvScan, and may add what is wrong with the row, under
// kinds and columns from 0.
using VisitCsvRowInSlot = absl::FunctionRef<absl::Status(int slot, const CsvRow&, CsvProblems*)>;

// The names of a file's columns: its first record or, if the source says that there is no header,
// their numbers. InvalidArgument, naming the file: it is empty, or a name is there twice. Also, of
// a source whose features are all columns but the labels: a column of labels is missing.
absl::StatusOr<std::vector<std::string>> ReadCsvColumns(const std::string& path,
                                                        const proto::CsvSource& source);

// Visits the rows of a file, plain or gzip, for a first look: rows with a wrong number of fields
// are passed over, and some columns may be missing. ReadCsvBlocks says what is wrong there.
// InvalidArgument: no CSV, none of the columns, the visitor's own error; names the file and the
// line.
absl::Status ReadCsvRows(const std::string& path, const proto::CsvSource& source,
                         const std::vector<std::string>& columns, VisitCsvRow visit);

// How a file is split.
struct CsvSplit {
  int threads = 1;  // That parse at a time.
  size_t block_bytes = size_t{1} << 20;
};

// Visits all rows block by block, as CsvScan::Run does it. All columns must be there, and all rows
// have as many fields as the header. Reads to the file's end, or to where it is no CSV, in spite of
// problems. InvalidArgument: these and the visitor's, all of them in one message (CsvProblems);
// names the file.
absl::Status ReadCsvBlocks(const std::string& path, const proto::CsvSource& source,
                           const std::vector<std::string>& columns, const CsvSplit& split,
                           VisitCsvRowInSlot visit, CsvScan::Take take);

// How it is said that reading must end for what is wrong with one field: 'column "age": "abc"
// REASON'.
absl::Status BadField(const std::string& column, std::string_view field, std::string_view reason);

// Whether a field stands for a missing value.
bool IsMissing(std::string_view field, const proto::CsvSource& source);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_FILE_H_
