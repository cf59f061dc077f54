#ifndef CAIRN_PS_SERVER_JOB_CONTROL_H_
#define CAIRN_PS_SERVER_JOB_CONTROL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "proto/coordinator.pb.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/job_blocks.h"
#include "ps_server/owner_threads.h"
#include "ps_server/parameter_store.h"
#include "ps_server/snapshots/checkpoint_loader.h"
#include "ps_server/snapshots/snapshot_catalog.h"
#include "ps_server/snapshots/snapshot_copier.h"
#include "ps_server/snapshots/snapshot_fetcher.h"
#include "ps_server/snapshots/upload_store.h"
#include "storage/snapshot_store.h"

namespace cairn::ps {

// Does what the coordinator orders: restores jobs, cuts them, writes cuts to the disk, forgets. It
// knows no network: commands come by Handle, answers go out by a callback. Commands may come again
// after a lost answer; doing them again gives the same.
class JobControl {
 public:
  // None of them is owned.
  struct Parts {
    uint32_t ps = 0;
    ParameterStore* store = nullptr;
    UploadStore* uploads = nullptr;
    storage::SnapshotStore* snapshots = nullptr;
    const SnapshotCatalog* catalog = nullptr;
    SnapshotFetcher* fetcher = nullptr;
    BufferPool* pool = nullptr;
    OwnerThreads* owners = nullptr;
    JobBlocks::Options job_options;
  };
  // Called on Handle's thread, and, for PersistReply and CopyReply, on JobControl's own.
  using Send = std::function<void(proto::TaskMessage)>;

  JobControl(const Parts& parts, Send send);
  // Stops.
  ~JobControl();
  JobControl(const JobControl&) = delete;
  JobControl& operator=(const JobControl&) = delete;

  // From one thread. Blocks while a job is restored; cuts are written, and copies made, in the
  // background. Commands that are not for a ps are logged and dropped.
  void Handle(const proto::Command& command);

  // The coordinator is another cluster's: there is no job here that it could mean. As Handle.
  void LeaveCluster();

  // Gives up the snapshots that are being written, unless they are all but done, and those that
  // wait. Nothing is handled afterwards. Blocks for as long as the disk needs to sync and read them
  // back. The fetcher must be stopped.
  void Stop();

  // What a Join and a heartbeat say of the job in memory. Any thread; do not block.
  void FillJoin(proto::Join* join) const;
  void FillHeartbeat(proto::Heartbeat* heartbeat) const;

 private:
  void Restore(const proto::Restore& command);
  absl::Status RestoreJob(const proto::Restore& command);
  absl::StatusOr<std::shared_ptr<JobBlocks>> Load(const proto::Restore& command);
  // 0: there is none.
  uint64_t PresentJobId() const;
  void StopJob(const proto::StopJob& command);
  void QueryLedgers(const proto::LedgerQuery& command);
  void MakeCut(const proto::Cut& command);
  void Persist(const proto::Persist& command);
  void WriteCut(const Cut& cut);
  void FailPersist(const proto::Persist& command, const absl::Status& status);
  void DeleteCheckpoint(const proto::DeleteCheckpoint& command);
  void SetRates(const proto::SetRates& command);
  void Profile(const proto::Profile& command);
  void ListSnapshots(const proto::ListSnapshots& command);
  void CopySnapshot(const proto::CopySnapshot& command);
  void SendCopied(const proto::CopySnapshot& command, const absl::Status& status);

  const Parts parts_;
  const Send send_;
  std::atomic<bool> stopping_ = false;
  const CheckpointLoader loader_;
  SnapshotCopier copier_;
  std::optional<ThreadPool> snapshots_;
  std::optional<ThreadPool> copies_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_JOB_CONTROL_H_
