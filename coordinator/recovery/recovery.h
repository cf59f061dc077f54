#ifndef CAIRN_COORDINATOR_RECOVERY_RECOVERY_H_
#define CAIRN_COORDINATOR_RECOVERY_RECOVERY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/durable_job.h"
#include "coordinator/membership.h"
#include "coordinator/moment.h"
#include "coordinator/outbox.h"
#include "coordinator/recovery/checkpoint_choice.h"
#include "coordinator/recovery/restoration.h"
#include "coordinator/recovery/snapshot_survey.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Brings a job into the memory of every ps: asks all of them which snapshots they can read, chooses
// the newest checkpoint that is complete, moves whole blocks if the cluster has another number of
// ps, and has it loaded in a generation of its own. Decisions are in the job's records before
// anybody is told. Of what is on the disks only that is deleted which belongs to no checkpoint. A
// pure machine, not thread-safe.
class Recovery {
 public:
  // Both outlive it.
  Recovery(const Membership* members, DurableJob* job);

  // An earlier process of the coordinator had the job trained: each ps is asked for its ledger when
  // it says that it still has it.
  void Resume() { resuming_ = true; }
  // The next generation, from `checkpoint` (0: the initial values), or from whatever is the newest
  // that turns out to be complete.
  void Begin(uint64_t checkpoint, Outbox* outbox);

  // `has_job`: in the present generation. `continues`: the same process as before.
  void PsJoined(uint32_t ps, bool has_job, bool continues, Outbox* outbox);
  void PsAway(uint32_t ps);
  void PsLost(uint32_t ps);
  void OnLedger(uint32_t ps, const proto::LedgerReply& reply);
  // Asks what lies on its disk, while the job trains: what it was told to delete may be lost.
  void AskForLeftovers(uint32_t ps, Outbox* outbox);
  // `manifests`: all that there are now.
  void OnSnapshots(uint32_t ps, const proto::SnapshotList& list,
                   const std::vector<proto::Manifest>& manifests, Outbox* outbox);
  void OnRestored(uint32_t ps, const proto::RestoreReply& reply, Moment now, Outbox* outbox);

  // Does what can be done now. Nothing before all ps are alive.
  void Advance(Moment now, Outbox* outbox);

  // Every ps has the job in the present generation: with these ledgers.
  bool complete() const { return restoration_.complete(); }
  std::vector<proto::LedgerReply> Ledgers() const { return restoration_.Ledgers(); }
  // Not empty: the job cannot go on.
  const std::string& failure() const { return failure_; }
  // "for the ps to load their blocks".
  std::string WaitingFor() const;

 private:
  void DeleteLeftovers(uint32_t ps, const proto::SnapshotList& list,
                       const std::vector<proto::Manifest>& manifests, Outbox* outbox);
  void Choose(Moment now, Outbox* outbox);
  void Await(const std::string& what, Moment now);
  void Take(const CheckpointChoice& choice, Moment now, Outbox* outbox);
  std::string Warning(const CheckpointChoice& choice) const;
  void TellPs(Outbox* outbox);

  const Membership& members_;
  DurableJob& job_;
  const uint32_t ps_count_;

  bool resuming_ = false;
  SnapshotSurvey survey_;
  Restoration restoration_;
  std::optional<CheckpointChoice> choice_;  // In the present generation.
  std::string awaited_;                     // What is missing; everybody is asked again for it.
  bool ask_again_ = false;                  // Now.
  std::string trouble_;                     // Why a ps has to try again.
  absl::Duration not_before_ = -absl::InfiniteDuration();
  std::string failure_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_RECOVERY_H_
