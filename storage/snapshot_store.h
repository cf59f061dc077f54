#ifndef CAIRN_STORAGE_SNAPSHOT_STORE_H_
#define CAIRN_STORAGE_SNAPSHOT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "storage/snapshot_format.h"
#include "storage/snapshot_reader.h"
#include "storage/snapshot_writer.h"

namespace rocksdb {
class Env;
class FileLock;
}  // namespace rocksdb

namespace cairn::storage {

// The snapshots in the directory of one ps: its own, and the copies that it keeps for other ps.
//
//   CAIRN_ASSIGN_OR_RETURN(auto writer, store->BeginSnapshot(job_id, checkpoint));
//   CAIRN_RETURN_IF_ERROR(writer->Add(block_id, header, {values}));
//   CAIRN_ASSIGN_OR_RETURN(const SnapshotSummary summary, writer->Finish());
//
// Each snapshot is a separate RocksDB table file (snapshot_format.h) that is either complete or
// absent. A database around them would couple their failures. Without one, a damaged file costs one
// snapshot, a full disk costs the snapshot being written, and no recovery is needed before the
// next.
//
// Thread-safe; several snapshots may be written and read concurrently. One process may open a
// directory for writing; any number may open it read-only.
class SnapshotStore {
 public:
  // Opens the store in `directory`, creates it if necessary, and deletes files of unfinished
  // snapshots. `env` replaces the operating system's file system in tests; it must outlive the
  // store. Unavailable: another ps has the store open. FailedPrecondition: the directory cannot be
  // created. DataLoss: there are snapshots, and the file CLUSTER is damaged.
  static absl::StatusOr<std::unique_ptr<SnapshotStore>> Open(const std::string& directory,
                                                             rocksdb::Env* env = nullptr);

  // Opens the store for reading, also while a ps writes to it. Does not change any file. NotFound:
  // the directory does not exist.
  static absl::StatusOr<std::unique_ptr<const SnapshotStore>> OpenReadOnly(
      const std::string& directory, rocksdb::Env* env = nullptr);

  // All writers must have been destroyed; readers remain usable.
  ~SnapshotStore();
  SnapshotStore(const SnapshotStore&) = delete;
  SnapshotStore& operator=(const SnapshotStore&) = delete;

  // The id of the cluster that wrote the snapshots, from the file CLUSTER; 0 if there are no
  // snapshots or the id is unknown. Does not block.
  uint64_t cluster_id() const;
  // Records durably that the snapshots belong to this cluster. Call it before the first snapshot is
  // written.
  absl::Status BelongTo(uint64_t cluster_id);

  // The free space of the disk; -1 if unknown. Blocks.
  int64_t FreeBytes() const;

  // Starts writing a snapshot. It replaces a snapshot of the same name when it is finished.
  absl::StatusOr<std::unique_ptr<SnapshotWriter>> BeginSnapshot(const SnapshotName& name);
  absl::StatusOr<std::unique_ptr<SnapshotWriter>> BeginSnapshot(uint64_t job_id,
                                                                uint64_t checkpoint) {
    return BeginSnapshot(SnapshotName{job_id, checkpoint});
  }

  // Opens a snapshot for reading several of its blocks.
  absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenSnapshot(const SnapshotName& name) const;
  absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenSnapshot(uint64_t job_id,
                                                               uint64_t checkpoint) const {
    return OpenSnapshot(SnapshotName{job_id, checkpoint});
  }

  // Reads one block of the ps's own snapshot. NotFound: no such snapshot or block. DataLoss: the
  // block is damaged; the message names it.
  absl::StatusOr<BlockRecord> ReadBlock(uint64_t job_id, uint64_t checkpoint,
                                        uint32_t block_id) const;

  // Returns the ids of the blocks of the ps's own snapshot, in ascending order.
  absl::StatusOr<std::vector<uint32_t>> ListBlocks(uint64_t job_id, uint64_t checkpoint) const;

  // Returns the checkpoints of which this ps's own snapshot is in the store, in ascending order;
  // empty if there are none.
  absl::StatusOr<std::vector<uint64_t>> ListSnapshots(uint64_t job_id) const;
  // Returns the names of all finished snapshots, including copies, in ascending order.
  absl::StatusOr<std::vector<SnapshotName>> ListNames(uint64_t job_id) const;

  // Deletes the file. Deleting a snapshot that does not exist is not an error.
  absl::Status DeleteSnapshot(const SnapshotName& name) { return Delete({name}); }
  // Deletes the ps's own snapshots and all copies.
  absl::Status DeleteCheckpoint(uint64_t job_id, uint64_t checkpoint);
  absl::Status DeleteJob(uint64_t job_id);

 private:
  SnapshotStore(std::string directory, rocksdb::Env* env);

  absl::Status Lock();
  // Deletes unfinished files and finds out whether there are snapshots.
  absl::Status CleanUp();
  absl::Status ReadCluster();
  absl::Status Delete(const std::vector<SnapshotName>& names);
  std::string PathOf(const SnapshotName& name) const;

  const std::string directory_;
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;  // Null if read-only.
  mutable Mutex mutex_;
  uint64_t snapshots_begun_ ABSL_GUARDED_BY(mutex_) = 0;
  // True if the store has had a snapshot since Open.
  bool has_snapshots_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t cluster_id_ ABSL_GUARDED_BY(mutex_) = 0;  // 0 if CLUSTER is missing.
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_STORE_H_
