#ifndef CAIRN_WORKER_DATA_CSV_CSV_BLOCKS_H_
#define CAIRN_WORKER_DATA_CSV_CSV_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/files/file_reader.h"

namespace cairn::worker {

// Complete records of a CSV file.
struct CsvBlock {
  std::string text;
  int64_t line = 1;  // On which it begins, counted from 1.
};

// Reads a CSV file in blocks that can be parsed independently. The end of a line is the end of a
// record if an even number of quotes precedes it, because quotes inside a field are doubled. (An
// invalid quote shifts the cuts. CsvParser then reports the quote in the block that has it.) Skips
// a UTF-8 byte order mark. Not thread-safe.
class CsvBlocks {
 public:
  // Longer records are rejected: the usual cause is a quote that is not closed.
  static constexpr size_t kRecordBytesMax = size_t{16} << 20;

  // Blocks have `block_bytes` and at most one more record. `reader` is at the start of the file.
  CsvBlocks(std::unique_ptr<FileReader> reader, size_t block_bytes);

  // Reads the next block; false at the end. Reuses the memory of `*block`. InvalidArgument, which
  // names file and line: UTF-16, a record without an end. Other errors as FileReader::Read.
  absl::StatusOr<bool> Next(CsvBlock* block);

  // As FileReader::Malformed.
  absl::Status Malformed(std::string_view reason) const { return reader_->Malformed(reason); }

 private:
  absl::Status SkipMark(std::string* text) const;
  // The length of the complete records in `text`; 0 if there are none.
  size_t FindCut(const std::string& text);

  const std::unique_ptr<FileReader> reader_;
  const size_t block_bytes_;
  bool last_ = false;     // The file has been read.
  int64_t line_ = 1;      // Of the next block.
  absl::Status failure_;  // The result of the next call.
  std::string rest_;      // Read, but after the records of the last block.
  // Of the next block: the bytes that FindCut has scanned, and whether they have an odd number of
  // quotes.
  size_t seen_ = 0;
  bool quoted_ = false;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_BLOCKS_H_
