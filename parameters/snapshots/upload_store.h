#ifndef CAIRN_PARAMETERS_SNAPSHOTS_UPLOAD_STORE_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_UPLOAD_STORE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/snapshots/stored_block.h"
#include "proto/parameter_server.pb.h"
#include "storage/snapshot_store.h"

namespace cairn::parameters {

// The initial values that `cairn` uploads before a job starts; together they are its checkpoint 0.
// A model is uploaded in several calls. Each is stored durably before it is acknowledged, as a
// snapshot of its own, with a number far above those of all checkpoints. A block that is uploaded
// again replaces the earlier one. Only jobs whose values are expected are uploaded, so
// nobody else can fill the disk. Thread-safe. Store, Read and Forget block.
class UploadStore {
 public:
  // The number of the first upload; later ones count up. Checkpoints count up from 1 and never
  // reach it.
  static constexpr uint64_t kFirstSnapshot = uint64_t{1} << 63;

  struct Upload {
    proto::UploadedBlock block;
    BlockBuffer values;  // As many as its rows have elements, then as many for each slot.
  };

  // `store` must outlive this object.
  explicit UploadStore(storage::SnapshotStore* store) : store_(*store) {}

  // Validates a block from a request and returns the number of its values, with those of its slots.
  // InvalidArgument: the rows or the shape are invalid, or there are too many slots.
  static absl::StatusOr<int64_t> CountValues(const proto::UploadedBlock& block);

  // The coordinator expects `bytes` of values of this job on this ps; 0: no more.
  void Expect(uint64_t job_id, uint64_t bytes);
  // Whether a request with `bytes` of values may be stored. Unavailable: the job's values are not
  // expected, or not yet. FailedPrecondition: they are much more than expected. Counts refusals.
  absl::Status Admit(uint64_t job_id, uint64_t bytes);
  uint64_t refused() const { return refused_; }

  // Stores all of `uploads`, or none on an error. InvalidArgument: duplicate blocks.
  absl::Status Store(uint64_t job_id, std::vector<Upload> uploads);

  // NotFound: the block was not uploaded. DataLoss: it is damaged.
  absl::StatusOr<StoredBlock> Read(uint64_t job_id, uint32_t block_id);
  // The same, not decoded.
  absl::StatusOr<storage::BlockRecord> ReadRecord(uint64_t job_id, uint32_t block_id);

  // Blocks. Must be called after the job's snapshots have been deleted from the store.
  void Forget(uint64_t job_id);

 private:
  struct Job {
    std::map<uint32_t, uint64_t> snapshot_of_block;
    uint64_t next_snapshot = 0;
  };

  // Returns the index of the job's uploads, which is read from the disk on first use.
  absl::StatusOr<Job*> FindJob(uint64_t job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(uint64_t job_id, uint64_t snapshot, absl::Span<const Upload> uploads);

  storage::SnapshotStore& store_;
  Mutex mutex_;
  std::map<uint64_t, Job> jobs_ ABSL_GUARDED_BY(mutex_);

  // Requests are admitted while another one waits for the disk.
  struct Expected {
    uint64_t bytes = 0;
    uint64_t admitted = 0;
  };
  Mutex expected_mutex_;
  std::map<uint64_t, Expected> expected_ ABSL_GUARDED_BY(expected_mutex_);  // By job id.
  std::atomic<uint64_t> refused_ = 0;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_UPLOAD_STORE_H_
