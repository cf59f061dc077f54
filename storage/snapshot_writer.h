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

// Writes one snapshot, block by block; it exists once Finish has returned OK, and not before. Used
// by one thread. Destroyed without that, it leaves nothing behind.
//
// After an error (ResourceExhausted: the disk is full) the space is given back at once, and all
// further calls return the same error; begin a new snapshot to try again. Errors name the snapshot
// and the directory.
class SnapshotWriter {
 public:
  // Made by SnapshotStore. Writes to `directory`/`temporary_file` until the end.
  static absl::StatusOr<std::unique_ptr<SnapshotWriter>> Create(rocksdb::Env* env,
                                                                const std::string& directory,
                                                                const std::string& temporary_file,
                                                                const SnapshotName& name);

  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Block ids ascend from call to call. The payload is all `pieces`, one after the other; memory is
  // borrowed for the call. Header and payload are below 4 GiB; they are copied once.
  absl::Status Add(uint32_t block_id, std::string_view header,
                   absl::Span<const std::string_view> pieces);

  // Syncs, reads everything back from the disk, compares the checksums, and only then gives the
  // snapshot its name, in place of one of the same name if there is one. Called once.
  absl::StatusOr<SnapshotSummary> Finish();

 private:
  SnapshotWriter(rocksdb::Env* env, const std::string& directory, const std::string& temporary_file,
                 const SnapshotName& name);

  absl::Status Close();
  absl::Status ReadBack() const;
  absl::Status Publish();
  // Remembers the first error and gives the space back.
  absl::Status Fail(absl::Status status);
  std::string Doing(std::string_view verb) const;

  rocksdb::Env* const env_;
  const std::string directory_;
  const std::string temporary_path_;
  const SnapshotName name_;
  std::unique_ptr<rocksdb::SstFileWriter> table_;  // null once closed
  SnapshotIndex index_;
  std::string record_;  // kept from block to block, to allocate once
  absl::Status status_;
  bool finished_ = false;
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_WRITER_H_
