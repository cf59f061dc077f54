#ifndef CAIRN_WORKER_DATA_FILES_FILE_BYTES_H_
#define CAIRN_WORKER_DATA_FILES_FILE_BYTES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"

namespace cairn::worker {

// The contents of a data file, for random access. They are in memory, on disk, not opened yet, or
// computed when they are read. Immutable, thread-safe.
class FileBytes {
 public:
  // `name` names the file in messages.
  static std::shared_ptr<const FileBytes> InMemory(std::string name, std::string bytes);
  // Takes ownership of `descriptor`, even on failure. Records the file's size and modification time
  // for CheckUnchanged.
  static absl::StatusOr<std::shared_ptr<const FileBytes>> OnDisk(std::string name, int descriptor);
  // Contents of `size` bytes that `open` returns at the first Read: in memory or spooled. If it
  // fails, the Read fails, and the next one calls it again. InvalidArgument: the contents have
  // another size.
  using Open = std::function<absl::StatusOr<std::shared_ptr<const FileBytes>>()>;
  static std::shared_ptr<const FileBytes> Deferred(std::string name, uint64_t size, Open open);
  // Contents of `size` bytes whose Read is `read`, which must be thread-safe.
  using ReadFunction = std::function<absl::StatusOr<const char*>(uint64_t offset, size_t count,
                                                                 std::string* scratch)>;
  static std::shared_ptr<const FileBytes> Computed(std::string name, uint64_t size,
                                                   ReadFunction read);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  // Whether no Read accesses the disk. False for deferred and computed contents.
  bool in_memory() const { return descriptor_ < 0 && open_ == nullptr && read_ == nullptr; }

  // Opens deferred contents, as the first Read would.
  absl::Status Prepare() const;
  // Whether Prepare has nothing to do.
  bool is_open() const { return open_ == nullptr || ready_ != nullptr; }

  // Returns `count` bytes at `offset`, all within size(). Without a copy if the file is in memory;
  // otherwise they are read into `*scratch` and valid until it changes. DataLoss: a file that
  // became shorter. Errors of the disk: as ReadAt. Errors of deferred contents: as Open; of
  // computed ones: as ReadFunction.
  absl::StatusOr<const char*> Read(uint64_t offset, size_t count, std::string* scratch) const;

  // DataLoss if the file on disk has changed since it was opened.
  absl::Status CheckUnchanged() const;
  // Whether it can: not what is in memory, spooled or computed.
  bool can_change() const { return can_change_; }

  // The error for invalid contents: InvalidArgument "data file NAME: reason".
  absl::Status Malformed(std::string_view reason) const;

 private:
  FileBytes(std::string name, std::string bytes, int descriptor);

  absl::StatusOr<const FileBytes*> Opened() const;

  const std::string name_;
  const std::string bytes_;
  const int descriptor_;
  uint64_t size_;
  bool can_change_ = false;
  int64_t changed_seconds_ = 0;  // The modification time.
  int64_t changed_nanoseconds_ = 0;
  Open open_;          // Empty: the contents are not deferred.
  ReadFunction read_;  // Empty: they are not computed.
  mutable Mutex mutex_;
  mutable std::shared_ptr<const FileBytes> opened_ ABSL_GUARDED_BY(mutex_);
  mutable std::atomic<const FileBytes*> ready_ = nullptr;  // opened_: it is read for each row.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_FILE_BYTES_H_
