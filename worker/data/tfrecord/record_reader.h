#ifndef CAIRN_WORKER_DATA_TFRECORD_RECORD_READER_H_
#define CAIRN_WORKER_DATA_TFRECORD_RECORD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "worker/data/files/file_reader.h"

namespace cairn::worker {

// Reads the records of a TFRecord file in order. Whether the file is plain, gzip or zlib is
// recognized by its first bytes. Verifies both checksums of each record.
//
//   while (true) {
//     CAIRN_ASSIGN_OR_RETURN(const bool found, reader->Next(&record));
//     if (!found) break;
//   }
//
// Not thread-safe.
class RecordReader {
 public:
  // The largest record that is read.
  static constexpr uint64_t kRecordBytesMax = uint64_t{64} << 20;

  struct Record {
    std::string_view bytes;  // Valid until the next call of Next.
    int64_t number = 0;      // In the file, from 0.
    uint64_t offset = 0;     // Of its length, in the decompressed file.
    std::string damage;      // Not empty: the reason why it cannot be read. It has no bytes.
  };

  // An empty file has no records. Errors as OpenDataFile.
  static absl::StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& path);

  // False at the end of the file. A record with a wrong checksum, or one that is cut off by the end
  // of the file, is damaged. InvalidArgument: the length of a record is damaged or above
  // kRecordBytesMax, so the records after it cannot be found. Other errors as FileReader::Read.
  absl::StatusOr<bool> Next(Record* record);

  // "data file PATH, record 7 at byte 1234", for messages.
  std::string Place(const Record& record) const;

 private:
  explicit RecordReader(std::unique_ptr<FileReader> file);
  // Makes `bytes` bytes available at position_, or all that are left.
  absl::Status Fill(size_t bytes);
  size_t available() const { return buffer_.size() - position_; }

  const std::unique_ptr<FileReader> file_;
  std::string buffer_;
  size_t position_ = 0;  // In buffer_.
  bool at_end_ = false;  // buffer_ has the last bytes of the file.
  uint64_t offset_ = 0;  // Of position_, in the file.
  int64_t number_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_TFRECORD_RECORD_READER_H_
