#ifndef CAIRN_COORDINATOR_RECOVERY_JOB_LOADER_H_
#define CAIRN_COORDINATOR_RECOVERY_JOB_LOADER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/event_time.h"
#include "coordinator/journaled_job.h"
#include "coordinator/membership.h"
#include "coordinator/outbox.h"
#include "coordinator/recovery/checkpoint_choice.h"
#include "coordinator/recovery/cut_off_members.h"
#include "coordinator/recovery/replica_survey.h"
#include "coordinator/recovery/restore_tracker.h"
#include "coordinator/recovery/snapshot_survey.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// For messages: "checkpoint 7", or "the initial values".
std::string CheckpointName(uint64_t checkpoint);

// Loads a job into the memory of every ps, both at its first start and after a loss. It asks all ps
// which snapshots they can read, chooses the newest complete checkpoint, moves whole blocks if the
// number of ps has changed, and has the ps load it in a new generation. A replicated job continues
// from the memory of its members instead, in the newest version of all blocks that one of them has.
// In a cluster without ps a member that stays away for too long becomes absent: its blocks move to
// the others, which go on without it. When it is back, it gets them again. So does a member that
// others do not reach.
// Decisions are journaled in the job's records before any ps is told. Deletes only snapshots that
// no checkpoint references.
//
// Pure state machine, not thread-safe.
class JobLoader {
 public:
  // Both must outlive it.
  JobLoader(const Membership* members, JournaledJob* job);

  // An earlier coordinator process trained the job. Each ps that reports that it still has the job
  // is asked for its ledger.
  void Resume() { resuming_ = true; }
  // Begins the next generation from `checkpoint` (0: the initial values), or from the newest
  // checkpoint that proves to be complete.
  void Begin(uint64_t checkpoint, EventTime now, Outbox* outbox);

  // Whether the generations of the job keep replicas.
  bool replicated() const;
  // Begins the next generation from the memory of the members. `base`: the newest checkpoint of the
  // generation that they continue.
  void BeginFromReplicas(uint64_t base, EventTime now, Outbox* outbox);

  // Whether the job goes on without this ps.
  bool IsAbsent(uint32_t ps) const { return absent_.contains(ps); }
  // Absent ps that are alive again and reached by the others; the next generation has them. "ps 1,
  // ps 2", or empty.
  std::string Returned() const;
  // The ps that have been away for too long; the next generation does without them. Empty if all
  // are. Call it after Advance.
  std::string Overdue(EventTime now) const;
  // A heartbeat said which ps do not reach each other. `manifests`: all that exist now. `stalled`:
  // the job makes no progress.
  void UpdateGaps(const std::vector<proto::Manifest>& manifests, bool stalled, EventTime now);
  // Whether the job goes on, or must, without this ps because others do not reach it.
  bool IsCutOff(uint32_t ps) const { return cut_off_.Contains(ps); }
  // Why the next generation must do without some members that are cut off; empty if it need not.
  std::string CutOff(EventTime now) const;
  // No member has all blocks: Begin from a checkpoint is required.
  bool replicas_lost() const { return replicas_lost_; }

  // `has_job`: it has the job in the current generation. `continues`: the same process as before.
  void PsJoined(uint32_t ps, bool has_job, bool continues, Outbox* outbox);
  void PsAway(uint32_t ps);
  void PsLost(uint32_t ps);
  void OnLedger(uint32_t ps, const proto::LedgerReply& reply);
  // Asks a ps for the snapshots on its disk while the job trains: commands to delete some may have
  // been lost, or the disk. In the latter case the reply leads to a new checkpoint at once.
  // `manifests`: all that exist now, oldest first.
  void RequestSnapshotLists(uint32_t ps, const std::vector<proto::Manifest>& manifests,
                            Outbox* outbox);
  // `manifests`: all that exist now.
  void OnSnapshots(uint32_t ps, const proto::SnapshotList& list,
                   const std::vector<proto::Manifest>& manifests, Outbox* outbox);
  void OnReplicaOffer(uint32_t ps, const proto::ReplicaOffer& offer);
  void OnRestored(uint32_t ps, const proto::RestoreReply& reply, EventTime now, Outbox* outbox);
  // A heartbeat of a ps: it has read another block if `progress` differs from its last one.
  void OnDiskProgress(uint32_t ps, uint64_t progress, EventTime now);

  // Takes every step that is possible now; none before all ps are alive or absent.
  void Advance(EventTime now, Outbox* outbox);

  // Whether every ps has the job in the current generation. Ledgers() requires it.
  bool complete() const { return restore_.complete(); }
  std::vector<proto::LedgerReply> Ledgers() const { return restore_.Ledgers(); }
  // Not empty: the job cannot continue.
  const std::string& failure() const { return failure_; }
  // "for ps 1 to load its blocks".
  std::string WaitingFor() const;

 private:
  void CountDeath(uint32_t ps, Outbox* outbox);
  // The start of a ps failed because memory was short, perhaps. The job fails after the third time.
  void CountExhausted(const std::string& what, Outbox* outbox);
  void DeleteLeftovers(uint32_t ps, const proto::SnapshotList& list,
                       const std::vector<proto::Manifest>& manifests, Outbox* outbox);
  bool HasLostPart(uint32_t ps, const std::vector<proto::Manifest>& manifests);
  void GiveUpHanging(EventTime now);
  // See absent_.
  std::set<uint32_t> AbsentNow() const;
  // The ps in the journal that the job goes on without because others do not reach them.
  std::vector<uint32_t> JournaledCutOff() const;
  // Whether the others have each part of this checkpoint if these ps are cut off.
  bool IsLoadableWithout(const std::set<uint32_t>& cut_off, const proto::Manifest& manifest) const;
  // Whether members can become absent.
  bool elastic() const;
  // Where the blocks are if no member is absent.
  proto::PartitionMap FullPartition() const;
  // The members of FullPartition that will be absent in the next generation.
  std::set<uint32_t> NextAbsent(EventTime now) const;
  void NoteAway(EventTime now);
  // Begins the next generation if other members must be absent than now.
  void ChangeMembers(EventTime now, Outbox* outbox);
  // Moves the blocks; journaled with the generation that begins.
  void Place(proto::PartitionMap places, EventTime now, Outbox* outbox);
  void AskForReplicas(Outbox* outbox);
  void ChooseReplicas(EventTime now, Outbox* outbox);
  void Choose(EventTime now, Outbox* outbox);
  void Await(const std::string& what, EventTime now);
  void Take(const CheckpointChoice& choice, EventTime now, Outbox* outbox);
  std::string Warning(const CheckpointChoice& choice) const;
  void TellPs(Outbox* outbox);

  const Membership& members_;
  JournaledJob& job_;
  const uint32_t ps_count_;
  const std::vector<uint32_t> full_members_;  // Of FullPartition.

  bool resuming_ = false;
  // The ps that have no part in the job, by the partition of its plan.
  std::set<uint32_t> absent_;
  // By ps: when it was last heard, if it is away and others are not. Where all were lost, the time
  // counts from the return of the first one.
  std::vector<std::optional<absl::Duration>> away_since_;
  absl::Duration all_lost_until_ = -absl::InfiniteDuration();
  CutOffMembers cut_off_;
  SnapshotSurvey survey_;
  RestoreTracker restore_;
  std::optional<CheckpointChoice> choice_;  // Of the current generation.
  // Of a generation that continues from memory.
  ReplicaSurvey replicas_;
  std::optional<proto::ReplicaSource> replica_choice_;
  bool replicas_lost_ = false;
  struct Disk {
    uint64_t progress = 0;
    // The last progress, or the beginning of the wait if that was later.
    absl::Duration since = -absl::InfiniteDuration();
    bool awaited = false;
  };
  std::vector<Disk> disks_;          // By ps.
  std::set<uint32_t> away_loading_;  // Their streams broke while they loaded.
  // By the ps that were asked while the job trains: the checkpoint that was the newest one then.
  std::map<uint32_t, uint64_t> newest_when_asked_;
  std::string awaited_;     // The missing snapshots; all ps are asked again for them.
  bool ask_again_ = false;  // At the next Choose.
  std::string trouble_;     // Why a ps must try again.
  absl::Duration not_before_ = -absl::InfiniteDuration();
  std::string failure_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_JOB_LOADER_H_
