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

// Whole records of a CSV file.
struct CsvBlock {
  std::string text;
  int64_t line = 1;  // On which it begins, counted from 1.
};

// Reads a CSV file in blocks that can be parsed each on its own. A line's end is a record's if an
// even number of quotes stands before it: those inside a field are doubled. (If a quote stands
// where none may, blocks are cut elsewhere, and CsvParser finds the quote in the block that has
// it.) A byte order mark of UTF-8 is passed over. Not thread-safe.
class CsvBlocks {
 public:
  // Longer records are refused: most often a quote was never closed.
  static constexpr size_t kRecordBytesMax = size_t{16} << 20;

  // Blocks are of `block_bytes` and, besides, at most a record; `reader` is at the file's begin.
  CsvBlocks(std::unique_ptr<FileReader> reader, size_t block_bytes);

  // The next block; false: there is none. Memory that `*block` has is used again. InvalidArgument:
  // UTF-16, a record that does not end; names file and line. Else as FileReader::Read.
  absl::StatusOr<bool> Next(CsvBlock* block);

  // As FileReader::Malformed.
  absl::Status Malformed(std::string_view reason) const { return reader_->Malformed(reason); }

 private:
  absl::Status SkipMark(std::string* text) const;
  // The length of the whole records in `text`; 0: it has none.
  size_t FindCut(const std::string& text);

  const std::unique_ptr<FileReader> reader_;
  const size_t block_bytes_;
  bool last_ = false;     // The file has been read.
  int64_t line_ = 1;      // Of the next block.
  absl::Status failure_;  // What the next call says.
  std::string rest_;      // Read, and behind the last block's records.
  // Of the text that becomes the next block: what FindCut has seen, and whether an odd number of
  // quotes stands in it.
  size_t seen_ = 0;
  bool quoted_ = false;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_BLOCKS_H_
