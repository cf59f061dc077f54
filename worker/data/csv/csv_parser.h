#ifndef CAIRN_WORKER_DATA_CSV_CSV_PARSER_H_
#define CAIRN_WORKER_DATA_CSV_CSV_PARSER_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace cairn::worker {

// One record of a CSV file. Fields stay valid until the visitor returns.
struct CsvRecord {
  int64_t line = 0;  // On which it begins, counted from 1.
  std::vector<std::string_view> fields;
  // The text ends within a quoted field of this line, as in a file that was cut off. `fields` has
  // those before it.
  bool unclosed = false;
};

// Parses text into records according to RFC 4180: fields with a delimiter, a (doubled) quote or a
// line end are quoted. Lines end with CR LF or LF; the last one may have no end. Skips empty lines.
// A quote that is not closed is an error, unless it is on the last line (CsvRecord::unclosed).
// Not thread-safe.
class CsvParser {
 public:
  using Visit = absl::FunctionRef<absl::Status(const CsvRecord&)>;

  explicit CsvParser(char delimiter);

  // Visits every record of `text`, which starts with a record, at line `line` of the file. Returns
  // the visitor's first error, or InvalidArgument with the line and the field, counted from 1.
  absl::Status Parse(const std::string& text, int64_t line, Visit visit);

 private:
  absl::Status ReadRecord();
  absl::Status ReadQuoted();
  absl::Status ReadLineEnd();
  absl::Status Bad(size_t field, std::string_view reason) const;

  const char delimiter_;
  // By byte: true if it ends a field without quotes.
  std::array<bool, 256> ends_plain_ = {};
  const char* at_ = nullptr;
  const char* end_ = nullptr;  // Of the text, where a zero byte is.
  int64_t inner_lines_ = 0;    // Lines that end within the record's quotes.
  CsvRecord record_;
  std::deque<std::string> unquoted_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_PARSER_H_
