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

// What a data file holds, to be read anywhere in it: kept in memory, or on disk. Immutable,
// thread-safe.
class FileBytes {
 public:
  // `name` is the file's in messages.
  static std::shared_ptr<const FileBytes> InMemory(std::string name, std::string bytes);
  // Owns `descriptor`, also if it fails. What it reads is compared with what the file was now.
  static absl::StatusOr<std::shared_ptr<const FileBytes>> OnDisk(std::string name, int descriptor);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  bool in_memory() const { return descriptor_ < 0; }

  // `count` bytes from `offset`, all within size(): in memory where they lie, else read into
  // `*scratch`, where they stay until it changes. DataLoss: the disk's error, or a file that became
  // shorter.
  absl::StatusOr<const char*> Read(uint64_t offset, size_t count, std::string* scratch) const;

  // DataLoss if the file on disk is not as it was when it was opened.
  absl::Status CheckUnchanged() const;

  // "data file NAME: reason", InvalidArgument: how all that is wrong with contents is said.
  absl::Status Malformed(std::string_view reason) const;

 private:
  FileBytes(std::string name, std::string bytes, int descriptor);

  const std::string name_;
  const std::string bytes_;
  const int descriptor_;
  uint64_t size_;
  int64_t changed_seconds_ = 0;  // Of the last change, as the file system says.
  int64_t changed_nanoseconds_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_BYTES_H_
