#ifndef CAIRN_WORKER_DATA_CSV_CSV_FILE_H_
#define CAIRN_WORKER_DATA_CSV_CSV_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/csv/csv_parser.h"
#include "worker/data/csv/csv_scan.h"

namespace cairn::worker {

// A record's fields as some columns, in the order in which they were asked for.
struct CsvRow {
  const CsvRecord* record = nullptr;
  const std::vector<int>* positions = nullptr;  // Of the columns in the record.

  std::string_view field(int column) const { return record->fields[(*positions)[column]]; }
};

using VisitCsvRow = absl::FunctionRef<absl::Status(const CsvRow&)>;
// Is told the slot of the row's block, see CsvScan.
using VisitCsvRowInSlot = absl::FunctionRef<absl::Status(int slot, const CsvRow&)>;

// The names of a file's columns: its first record or, if the source says that there is no header,
// their numbers. InvalidArgument: empty, or a name that is there twice; names the file.
absl::StatusOr<std::vector<std::string>> ReadCsvColumns(const std::string& path,
                                                        const proto::CsvSource& source);

// Visits all rows of a file, plain or gzip. All rows must have as many fields as the header.
// InvalidArgument: no CSV, no such column, the visitor's own error; names the file and the line.
absl::Status ReadCsvRows(const std::string& path, const proto::CsvSource& source,
                         const std::vector<std::string>& columns, VisitCsvRow visit);

// How a file is split.
struct CsvSplit {
  int threads = 1;  // That parse at a time.
  size_t block_bytes = size_t{1} << 20;
};

// The same block by block, as CsvScan::Run does it.
absl::Status ReadCsvBlocks(const std::string& path, const proto::CsvSource& source,
                           const std::vector<std::string>& columns, const CsvSplit& split,
                           VisitCsvRowInSlot visit, CsvScan::Take take);

// How all that is wrong with one field is said: 'column "age": "abc" REASON'.
absl::Status BadField(const std::string& column, std::string_view field, std::string_view reason);

// Whether a field stands for a missing value.
bool IsMissing(std::string_view field, const proto::CsvSource& source);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_FILE_H_
