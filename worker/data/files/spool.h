#ifndef CAIRN_WORKER_DATA_FILES_SPOOL_H_
#define CAIRN_WORKER_DATA_FILES_SPOOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// Opens an unnamed file in a folder, which the system deletes even if the process is killed; -1 and
// errno on failure. On file systems without O_TMPFILE, creates a named file and unlinks it.
int OpenUnnamed(const std::string& folder);

// An unnamed file in the spool folder, of which each Spool has chunks of its own. A job may have
// more contents than a process may have open files. Thread-safe.
class SharedSpool {
 public:
  static constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

  explicit SharedSpool(int descriptor) : descriptor_(descriptor) {}
  ~SharedSpool();
  SharedSpool(const SharedSpool&) = delete;
  SharedSpool& operator=(const SharedSpool&) = delete;

  int descriptor() const { return descriptor_; }
  // The place of a new chunk. It takes room on the disk when it is written.
  uint64_t NewChunk() { return end_.fetch_add(kChunkBytes); }
  // Returns a chunk's room on the disk.
  void FreeChunk(uint64_t place) const;

 private:
  const int descriptor_;
  std::atomic<uint64_t> end_ = 0;
};

// Collects the decompressed or parsed contents of a data file. They are kept in memory while the
// storage has room, and moved to the storage's SharedSpool after that.
//
//   Append as often as needed, then Finish once
//
// Not thread-safe.
class Spool {
 public:
  // `name` is the name of the data file. `storage` must outlive the spool.
  Spool(std::string name, DataStorage* storage);
  // What was not finished is returned to the storage.
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // ResourceExhausted: the storage's limit is reached. Unavailable: the disk is full or has failed,
  // and may work later; names the folder.
  absl::Status Append(std::string_view bytes);

  // Returns the contents. The spool must not be used afterwards.
  absl::StatusOr<std::shared_ptr<const FileBytes>> Finish();

 private:
  // Its chunks; all but the last one are full.
  struct Chunks;

  absl::Status MoveToDisk();
  absl::Status Write(std::string_view bytes);

  const std::string name_;
  DataStorage* const storage_;
  std::string memory_;
  std::shared_ptr<Chunks> chunks_;  // Null while the contents are in memory.
  uint64_t written_ = 0;            // To the file.
  bool is_finished_ = false;
};

// An unnamed file in the spool folder, to which pieces are added while others are read.
// Thread-safe.
class SpoolFile {
 public:
  // As Spool. `storage` must outlive the file.
  static absl::StatusOr<std::unique_ptr<SpoolFile>> Create(std::string name, DataStorage* storage);
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  // Returns the place of the piece. Errors as Spool::Append.
  absl::StatusOr<uint64_t> Add(std::string_view piece);
  // Reads `count` bytes of a piece, which Add has returned. Errors of the disk: as ReadAt.
  absl::Status Read(uint64_t place, size_t count, std::string* out) const;

 private:
  SpoolFile(std::string name, DataStorage* storage, int descriptor)
      : name_(std::move(name)), storage_(storage), descriptor_(descriptor) {}

  const std::string name_;
  DataStorage* const storage_;
  const int descriptor_;
  std::atomic<uint64_t> end_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FILES_SPOOL_H_
