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

// Opens a data file for reading; the descriptor is the caller's. NotFound, PermissionDenied,
// FailedPrecondition (a folder, a pipe), InvalidArgument (an empty file).
absl::StatusOr<int> OpenDataFile(const std::string& path);

// Reads a file from its beginning to its end, plain or gzip (told apart by its first bytes). All
// errors name the file. Not thread-safe.
class FileReader {
 public:
  // Errors as OpenDataFile; InvalidArgument too for a name that ends in .gz and contents that are
  // no gzip.
  static absl::StatusOr<std::unique_ptr<FileReader>> Open(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // Appends up to `bytes` bytes to `*out`, fewer only at the file's end. Memory grows with what is
  // really there, however large `bytes` is. DataLoss: a gzip file that is cut off or damaged, or
  // the disk's error.
  absl::Status Read(uint64_t bytes, std::string* out);

  bool gzip() const { return gzip_; }
  const std::string& path() const { return path_; }

  // "PATH: reason": how everything that is wrong with a file's contents is said.
  absl::Status Malformed(std::string_view reason) const;

 private:
  struct Handle;
  FileReader(std::string path, bool gzip, std::unique_ptr<Handle> handle);

  const std::string path_;
  const bool gzip_;
  const std::unique_ptr<Handle> handle_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_READER_H_
