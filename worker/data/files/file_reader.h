#ifndef CAIRN_WORKER_DATA_FILES_FILE_READER_H_
#define CAIRN_WORKER_DATA_FILES_FILE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::worker {

// Opens a data file for reading: a local one, or the copy of one at an address (job/data_url.h).
// The caller closes the descriptor. Errors: as RemoteFiles::Open for an address; else NotFound,
// PermissionDenied, FailedPrecondition (a folder or a pipe), InvalidArgument (an empty file, unless
// it `may_be_empty`).
absl::StatusOr<int> OpenDataFile(const std::string& path, bool may_be_empty = false);

enum class Compression { kNone, kGzip, kZlib };

// Reads a file sequentially and decompresses it. All errors name the file. Not thread-safe.
class FileReader {
 public:
  // A gzip file is recognized by its first bytes.
  // Errors as OpenDataFile; also InvalidArgument, if the name ends in .gz but the contents are not
  // gzip.
  static absl::StatusOr<std::unique_ptr<FileReader>> Open(const std::string& path);
  // A file with this compression, which may be empty. Errors as OpenDataFile.
  static absl::StatusOr<std::unique_ptr<FileReader>> Open(const std::string& path,
                                                          Compression compression);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // Appends up to `bytes` bytes to `*out`, fewer only at the end of the file. Memory grows with the
  // contents of the file, not with `bytes`. DataLoss: truncated or damaged compressed data. Errors
  // of the disk: as ReadAt.
  absl::Status Read(uint64_t bytes, std::string* out);

  bool compressed() const { return inflater_ != nullptr; }
  const std::string& path() const { return path_; }

  // The error for invalid contents: InvalidArgument "data file PATH: reason".
  absl::Status Malformed(std::string_view reason) const;

 private:
  struct Inflater;
  FileReader(std::string path, int descriptor);
  absl::Status StartInflating(Compression compression);
  absl::StatusOr<size_t> ReadNext(char* to, size_t count);
  absl::StatusOr<size_t> Inflate(char* to, size_t count);

  const std::string path_;
  const int descriptor_;
  uint64_t offset_ = 0;
  std::unique_ptr<Inflater> inflater_;  // Null: the file is not compressed.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_READER_H_
