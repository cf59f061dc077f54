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
};

// Cuts text into records as RFC 4180 says: fields are quoted if they hold the delimiter, a quote
// (doubled) or the end of a line. Lines end with CR LF or LF, the last one may have no end. Empty
// lines are passed over. Not thread-safe.
class CsvParser {
 public:
  using Visit = absl::FunctionRef<absl::Status(const CsvRecord&)>;

  explicit CsvParser(char delimiter);

  // Visits every record of `text`, which begins where a record does, on line `line` of its file.
  // Ends with the visitor's first error, or with InvalidArgument, which says the line and, counted
  // from 1, the field.
  absl::Status Parse(const std::string& text, int64_t line, Visit visit);

 private:
  absl::Status ReadRecord();
  absl::Status ReadQuoted();
  absl::Status ReadLineEnd();
  absl::Status Bad(size_t field, std::string_view reason) const;

  const char delimiter_;
  // What a field without quotes does not go on with, by byte.
  std::array<bool, 256> ends_plain_ = {};
  const char* at_ = nullptr;
  const char* end_ = nullptr;  // There is a zero byte.
  int64_t inner_lines_ = 0;    // Lines that end within the record's quotes.
  CsvRecord record_;
  std::deque<std::string> unquoted_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_PARSER_H_
