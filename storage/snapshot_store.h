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

// One ps's snapshots on its own disk, and those that it keeps for others. Thread-safe; several
// snapshots may be written and read at the same time. One process writes a directory; any number
// may read it.
//
// Each snapshot is one RocksDB table file (snapshot_format.h), complete or absent. There is no
// database around them, on purpose: it would join what must fail alone. A damaged file costs one
// snapshot, a full disk the one being written, and nothing has to be repaired before the next.
class SnapshotStore {
 public:
  // Opens the store in `directory`, or begins one, and removes what writers that died left there.
  // `env` stands in for the machine's disk in tests; it is not owned. Unavailable: another ps uses
  // the directory. FailedPrecondition: it cannot be made.
  static absl::StatusOr<std::unique_ptr<SnapshotStore>> Open(const std::string& directory,
                                                             rocksdb::Env* env = nullptr);

  // For tools; also while a ps goes on writing. Changes nothing. NotFound: no such directory.
  static absl::StatusOr<std::unique_ptr<const SnapshotStore>> OpenReadOnly(
      const std::string& directory, rocksdb::Env* env = nullptr);

  // Writers must be gone; readers may go on.
  ~SnapshotStore();
  SnapshotStore(const SnapshotStore&) = delete;
  SnapshotStore& operator=(const SnapshotStore&) = delete;

  // Whose snapshots these are, as the file CLUSTER beside them says; 0: there are none, or nobody
  // has said so. Does not block.
  uint64_t cluster_id() const;
  // From now on they are this cluster's, also after a restart.
  absl::Status BelongTo(uint64_t cluster_id);

  absl::StatusOr<std::unique_ptr<SnapshotWriter>> BeginSnapshot(const SnapshotName& name);
  absl::StatusOr<std::unique_ptr<SnapshotWriter>> BeginSnapshot(uint64_t job_id,
                                                                uint64_t checkpoint) {
    return BeginSnapshot(SnapshotName{job_id, checkpoint});
  }

  // To read many blocks of one snapshot.
  absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenSnapshot(const SnapshotName& name) const;
  absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenSnapshot(uint64_t job_id,
                                                               uint64_t checkpoint) const {
    return OpenSnapshot(SnapshotName{job_id, checkpoint});
  }

  // NotFound: no such snapshot or block. DataLoss: damaged; the message names the block.
  absl::StatusOr<BlockRecord> ReadBlock(uint64_t job_id, uint64_t checkpoint,
                                        uint32_t block_id) const;

  // The ids of a snapshot's blocks, ascending.
  absl::StatusOr<std::vector<uint32_t>> ListBlocks(uint64_t job_id, uint64_t checkpoint) const;

  // The checkpoints of which this ps's own finished snapshot is here, ascending. None is not an
  // error.
  absl::StatusOr<std::vector<uint64_t>> ListSnapshots(uint64_t job_id) const;
  // All finished snapshots, copies too, ascending.
  absl::StatusOr<std::vector<SnapshotName>> ListNames(uint64_t job_id) const;

  // Gives the space back. Deleting what is not there is not an error.
  absl::Status DeleteSnapshot(const SnapshotName& name) { return Delete({name}); }
  // The ps's own and all copies.
  absl::Status DeleteCheckpoint(uint64_t job_id, uint64_t checkpoint);
  absl::Status DeleteJob(uint64_t job_id);

 private:
  SnapshotStore(std::string directory, rocksdb::Env* env);

  absl::Status Lock();
  // Removes what writers left, and sees what else is there.
  absl::Status Tidy();
  void ReadCluster();
  absl::Status Delete(const std::vector<SnapshotName>& names);
  std::string PathOf(const SnapshotName& name) const;

  const std::string directory_;
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;  // null in a store that is only read
  mutable Mutex mutex_;
  uint64_t snapshots_begun_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_snapshots_ ABSL_GUARDED_BY(mutex_) = false;  // Or had some since it was opened.
  uint64_t cluster_id_ ABSL_GUARDED_BY(mutex_) = 0;     // 0: CLUSTER is not there, or unreadable.
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_STORE_H_
