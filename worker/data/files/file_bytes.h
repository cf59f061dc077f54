#ifndef CAIRN_WORKER_DATA_FILES_FILE_BYTES_H_
#define CAIRN_WORKER_DATA_FILES_FILE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::worker {

// The contents of a data file, for random access. They are in memory or on disk. Immutable,
// thread-safe.
class FileBytes {
 public:
  // `name` names the file in messages.
  static std::shared_ptr<const FileBytes> InMemory(std::string name, std::string bytes);
  // Takes ownership of `descriptor`, even on failure. Records the file's size and modification time
  // for CheckUnchanged.
  static absl::StatusOr<std::shared_ptr<const FileBytes>> OnDisk(std::string name, int descriptor);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  bool in_memory() const { return descriptor_ < 0; }

  // Returns `count` bytes at `offset`, all within size(). Without a copy if the file is in memory;
  // otherwise they are read into `*scratch` and valid until it changes. DataLoss: a file that
  // became shorter. Errors of the disk: as ReadAt.
  absl::StatusOr<const char*> Read(uint64_t offset, size_t count, std::string* scratch) const;

  // DataLoss if the file on disk has changed since it was opened.
  absl::Status CheckUnchanged() const;

  // The error for invalid contents: InvalidArgument "data file NAME: reason".
  absl::Status Malformed(std::string_view reason) const;

 private:
  FileBytes(std::string name, std::string bytes, int descriptor);

  const std::string name_;
  const std::string bytes_;
  const int descriptor_;
  uint64_t size_;
  int64_t changed_seconds_ = 0;  // The modification time.
  int64_t changed_nanoseconds_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_BYTES_H_
