#ifndef CAIRN_WORKER_DATA_CSV_CSV_PARSER_H_
#define CAIRN_WORKER_DATA_CSV_CSV_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::worker {

// One record of a CSV file. Fields stay valid until the visitor returns.
struct CsvRecord {
  int64_t line = 0;  // On which it begins, counted from 1.
  std::vector<std::string_view> fields;
};

// Cuts bytes into records as RFC 4180 says: fields are quoted if they hold the delimiter, a quote
// (doubled) or the end of a line. Lines end with CR LF or LF, the last one may have no end. A byte
// order mark of UTF-8 and empty lines are passed over. Not thread-safe.
class CsvParser {
 public:
  // Longer records are refused: most often a quote was never closed.
  static constexpr size_t kRecordBytesMax = size_t{16} << 20;

  using Visit = absl::FunctionRef<absl::Status(const CsvRecord&)>;

  explicit CsvParser(char delimiter) : delimiter_(delimiter) {}

  // Takes the next bytes, `last` if no more follow, and visits every record that is complete.
  // Ends with the visitor's first error, or with InvalidArgument, which says the line and, counted
  // from 1, the field.
  absl::Status Parse(std::string_view bytes, bool last, Visit visit);

 private:
  struct Field {
    size_t begin = 0;  // In buffer_.
    size_t size = 0;
    bool has_doubled_quotes = false;
  };

  absl::Status SkipMark(bool last);
  absl::StatusOr<bool> FindRecord(bool last);
  absl::StatusOr<bool> FindQuoted(bool last, size_t* at);
  absl::StatusOr<bool> FindPlain(bool last, size_t* at);
  absl::StatusOr<bool> FindLineEnd(bool last, size_t* at);
  bool IsEmptyLine() const;
  void FillRecord();
  absl::Status Bad(std::string_view reason) const;

  const char delimiter_;
  std::string buffer_;
  size_t begin_ = 0;  // Of the record in buffer_.
  size_t end_ = 0;    // Behind it, once it was found.
  int64_t line_ = 1;
  bool mark_seen_ = false;  // Or that there is none.
  std::vector<Field> fields_;
  CsvRecord record_;
  std::deque<std::string> unquoted_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_PARSER_H_
