#ifndef CAIRN_PARAMETERS_JOB_CONTROL_H_
#define CAIRN_PARAMETERS_JOB_CONTROL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/thread_pool.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/job_blocks.h"
#include "parameters/owner_threads.h"
#include "parameters/parameter_store.h"
#include "parameters/snapshots/checkpoint_loader.h"
#include "parameters/snapshots/replica_loader.h"
#include "parameters/snapshots/snapshot_catalog.h"
#include "parameters/snapshots/snapshot_copier.h"
#include "parameters/snapshots/snapshot_fetcher.h"
#include "parameters/snapshots/upload_store.h"
#include "proto/coordinator.pb.h"
#include "storage/snapshot_store.h"

namespace cairn::parameters {

// Executes the coordinator's commands on a ps: restores jobs, takes cuts, writes snapshots, deletes
// data. Independent of the network: commands are passed to Handle, and replies to a callback.
// Commands are idempotent, because the coordinator repeats them when a reply is lost.
class JobControl {
 public:
  // Pointers are not owned.
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
  // Called on the thread of Handle; for RestoreReply, PersistReply, CopyReply and SnapshotList on
  // threads of JobControl.
  using Send = std::function<void(proto::TaskMessage)>;

  JobControl(const Parts& parts, Send send);
  // Calls Stop.
  ~JobControl();
  JobControl(const JobControl&) = delete;
  JobControl& operator=(const JobControl&) = delete;

  // Executes a command. Must be called on one thread. Jobs are restored, and snapshots written,
  // copied, listed and deleted, in the background: a disk that hangs must not keep the ps from
  // other commands. A Restore that differs from the one that is being executed replaces it; only
  // the last one is answered. Ignores commands for other roles, with a warning.
  void Handle(const proto::Command& command);

  // Drops the job because the ps has joined another cluster, whose jobs have the same ids. Same
  // thread as Handle.
  void LeaveCluster();

  // Cancels the snapshots that are being written or queued. Blocks while one that is nearly
  // finished is synced and read back. Stop the fetcher first. Handle must not be called afterwards.
  void Stop();

  // Set the fields about the job in memory and the disk. Thread-safe; do not block.
  void FillJoin(proto::Join* join) const;
  void FillHeartbeat(proto::Heartbeat* heartbeat);

 private:
  // A Restore that is being executed, on a thread of its own: one that hangs must not delay the
  // next.
  struct Loading {
    proto::Restore command;
    std::shared_ptr<const ReplicaSet> kept;  // What this ps has in memory; may be null.
    std::atomic<bool> replaced = false;
    std::atomic<bool> over = false;
    std::thread thread;
  };

  void Restore(const proto::Restore& received);
  // True: the job is in memory already. An error: it must not be loaded.
  absl::StatusOr<bool> HasJob(const proto::Restore& command) const;
  void RunLoad(Loading* loading);
  absl::Status NoMemoryForJob(const proto::Restore& command, const std::string& what) const;
  struct Loaded {
    std::shared_ptr<JobBlocks> job;
    std::shared_ptr<JobBlocks> replicas;  // Null unless the job is replicated.
  };
  absl::StatusOr<Loaded> LoadOrExhaust(const Loading& loading);
  absl::StatusOr<Loaded> Load(const Loading& loading);
  absl::StatusOr<std::vector<BlockState>> LoadStates(const JobLayout& layout,
                                                     const Loading& loading);
  absl::StatusOr<std::vector<BlockState>> InitialStates(const JobLayout& layout,
                                                        const proto::Restore& command);
  // What this ps has in memory, if the command loads from there; else null.
  std::shared_ptr<const ReplicaSet> KeptFor(const proto::Restore& command) const;
  void SendRestoreReply(const proto::Restore& command, const absl::Status& status);
  // The load in progress will neither install its blocks nor reply.
  void ReplaceLoad();
  void CancelWrites();
  // The command with its plan, which the coordinator omits if this ps has it. Unavailable: it does
  // not; the coordinator sends it after the failure.
  absl::StatusOr<proto::Restore> WithPlan(proto::Restore command) const;
  // Returns 0 if there is no job.
  uint64_t CurrentJobId() const;
  void StopJob(const proto::StopJob& command);
  void OfferReplicas(const proto::OfferReplicas& command);
  void QueryLedgers(const proto::LedgerQuery& command);
  void MakeCut(const proto::Cut& command);
  void Persist(const proto::Persist& command);
  absl::Status BeginWriting(const proto::Persist& command);
  void WriteCut(const Cut& cut, const std::atomic<bool>& cancelled);
  void SendPersistError(const proto::Persist& command, const absl::Status& status);
  void DeleteCheckpoint(const proto::DeleteCheckpoint& command);
  void SetRates(const proto::SetRates& command);
  void Profile(const proto::Profile& command);
  void ListSnapshots(const proto::ListSnapshots& command);
  void CopySnapshot(const proto::CopySnapshot& command);
  void SendCopyReply(const proto::CopySnapshot& command, const absl::Status& status);

  const Parts parts_;
  const Send send_;
  const CheckpointLoader loader_;
  const ReplicaLoader replica_loader_;
  SnapshotCopier copier_;
  // All that have not ended, the newest last. Only the thread of Handle uses the list.
  std::vector<std::unique_ptr<Loading>> loads_;
  // Set for the cuts that are being written or queued when their generation ends.
  std::shared_ptr<std::atomic<bool>> writes_cancelled_;
  mutable Mutex mutex_;
  // The load whose blocks will be installed, or null.
  Loading* loading_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int writes_pending_ ABSL_GUARDED_BY(mutex_) = 0;
  ConditionVariable write_ended_;
  // The cut that is being written or queued, and since when.
  struct Writing {
    uint64_t job_id = 0;
    uint64_t generation = 0;
    uint64_t cut = 0;
    absl::Time since;
  };
  std::optional<Writing> writing_ ABSL_GUARDED_BY(mutex_);
  // Of the job in the store.
  uint64_t plan_fingerprint_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<ThreadPool> snapshots_;
  std::optional<ThreadPool> copies_;
  std::optional<ThreadPool> files_;  // Lists and deletions.
  std::atomic<int64_t> disk_free_ = -1;
  std::atomic<bool> disk_free_wanted_ = false;  // The files' thread finds it out.
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_JOB_CONTROL_H_
