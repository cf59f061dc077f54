#ifndef CAIRN_STORAGE_SNAPSHOT_WRITER_H_
#define CAIRN_STORAGE_SNAPSHOT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "storage/snapshot_format.h"

namespace rocksdb {
class Env;
class SstFileWriter;
}  // namespace rocksdb

namespace cairn::storage {

// Writes one snapshot, block by block. The snapshot exists only after Finish has returned OK. A
// writer that is destroyed earlier deletes its file. Not thread-safe.
//
// After an error (ResourceExhausted: the disk is full) the file is deleted, and all further calls
// return the same error; begin another snapshot to try again. Errors name the snapshot and the
// directory.
class SnapshotWriter {
 public:
  // Called by SnapshotStore. Until Finish, the data are written to `directory`/`temporary_file`.
  static absl::StatusOr<std::unique_ptr<SnapshotWriter>> Create(rocksdb::Env* env,
                                                                const std::string& directory,
                                                                const std::string& temporary_file,
                                                                const SnapshotName& name);

  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Adds a block. Block ids must be strictly ascending. The payload is the concatenation of
  // `pieces`. Header and payload are less than 4 GiB together; they are copied once, before Add
  // returns.
  absl::Status Add(uint32_t block_id, std::string_view header,
                   absl::Span<const std::string_view> pieces);

  // Syncs the file, reads it back from disk, verifies all checksums, and only then renames the file
  // to its final name, replacing a snapshot of the same name. Must be called at most once.
  absl::StatusOr<SnapshotSummary> Finish();

 private:
  SnapshotWriter(rocksdb::Env* env, const std::string& directory, const std::string& temporary_file,
                 const SnapshotName& name);

  absl::Status Close();
  absl::Status ReadBack() const;
  absl::Status Publish();
  // Stores the first error and deletes the file.
  absl::Status Fail(absl::Status status);
  std::string ErrorPrefix(std::string_view verb) const;

  rocksdb::Env* const env_;
  const std::string directory_;
  const std::string temporary_path_;
  const SnapshotName name_;
  std::unique_ptr<rocksdb::SstFileWriter> table_;  // Null after Close.
  SnapshotIndex index_;
  std::string record_;  // Reused for all blocks to avoid an allocation for each.
  absl::Status status_;
  bool finished_ = false;
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_WRITER_H_
