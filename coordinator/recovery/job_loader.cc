#include "coordinator/recovery/job_loader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cluster/partition_map.h"
#include "common/check.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "coordinator/job_sizes.h"
#include "coordinator/training/epoch_callbacks.h"
#include "job/strategy.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

// How often all ps are asked again for missing snapshots.
constexpr absl::Duration kAskAgain = absl::Seconds(5);
constexpr absl::Duration kTryAgain = absl::Seconds(1);
// After a start for which memory was short, and the number of such starts.
constexpr absl::Duration kTryExhaustedAgain = absl::Seconds(5);
constexpr int64_t kExhaustedMax = 3;

std::string PsNames(const std::set<uint32_t>& list) {
  return absl::StrJoin(list, ", ",
                       [](std::string* out, uint32_t ps) { absl::StrAppend(out, "ps ", ps); });
}

const proto::Manifest* FindManifest(const std::vector<proto::Manifest>& manifests,
                                    uint64_t checkpoint) {
  for (const proto::Manifest& manifest : manifests) {
    if (manifest.checkpoint() == checkpoint) return &manifest;
  }
  return nullptr;
}

// The partition under which a checkpoint was written. The initial values have the partition of the
// job's acceptance.
const proto::PartitionMap& PartitionOf(const JournaledJob& job, uint64_t checkpoint) {
  if (checkpoint == 0) return job.record().partition();
  const proto::Manifest* manifest = FindManifest(job.manifests(), checkpoint);
  CAIRN_CHECK(manifest != nullptr);
  return manifest->partition();
}

proto::Command ListCommand(uint64_t job_id) {
  proto::Command command;
  command.mutable_list_snapshots()->set_job_id(job_id);
  return command;
}

// Whether each block is on the same ps.
bool SamePlaces(const proto::PartitionMap& a, const proto::PartitionMap& b) {
  return a.ps_count() == b.ps_count() &&
         std::equal(a.blocks().begin(), a.blocks().end(), b.blocks().begin(), b.blocks().end(),
                    [](const auto& x, const auto& y) { return x.ps() == y.ps(); });
}

// The ps that have no part in a job.
std::set<uint32_t> OthersThan(const proto::PartitionMap& partition) {
  std::set<uint32_t> others;
  for (uint32_t ps = 0; ps < partition.ps_count(); ++ps) others.insert(ps);
  for (const uint32_t ps : cluster::MembersOf(partition)) others.erase(ps);
  return others;
}

}  // namespace

std::string CheckpointName(uint64_t checkpoint) {
  return checkpoint == 0 ? "the initial values" : absl::StrCat("checkpoint ", checkpoint);
}

JobLoader::JobLoader(const Membership* members, JournaledJob* job)
    : members_(*members),
      job_(*job),
      ps_count_(static_cast<uint32_t>(members_.options().ps_addresses.size())),
      full_members_(cluster::MembersOf(FullPartition())),
      absent_(AbsentNow()),
      away_since_(ps_count_),
      cut_off_(members, JournaledCutOff()),
      survey_(ps_count_),
      restore_(ps_count_, absent_),
      replicas_(ps_count_, absent_),
      disks_(ps_count_) {
  survey_.SetAbsent(absent_);
}

void JobLoader::Begin(uint64_t checkpoint, EventTime now, Outbox* outbox) {
  NoteAway(now);  // A job need not wait for those that were away long before its turn.
  // The plan (with the new partition) and the generation's number are journaled before any ps hears
  // of them. Blocks move only here, between generations, so no push can reach the old owner of a
  // block.
  Place(members_.options().workers_hold_parameters
            ? cluster::MoveBlocksFrom(NextAbsent(now), FullPartition())
            : cluster::RebalanceBlocks(PartitionOf(job_, checkpoint), ps_count_),
        now, outbox);
  EpochCallbacks::Prepare(*job_.plan(), job_.LowWaterOf(checkpoint), &job_.run(),
                          CsvLogger::PatienceFor(members_.options().progress_timeout));
  job_.BeginGeneration(checkpoint, outbox);
  newest_when_asked_.clear();
  resuming_ = false;
  survey_.AskAgain();  // Checkpoints were written since the last survey.
  restore_ = RestoreTracker(ps_count_, absent_);
  choice_.reset();
  replica_choice_.reset();
  replicas_lost_ = false;
}

void JobLoader::Place(proto::PartitionMap places, EventTime now, Outbox* outbox) {
  const proto::PartitionMap& before = job_.plan()->partition();
  const bool same_absent = std::equal(places.absent().begin(), places.absent().end(),
                                      before.absent().begin(), before.absent().end());
  if (same_absent && SamePlaces(places, before)) return;
  if (job_.plan()->partition().ps_count() != ps_count_) {
    job_.Note(absl::StrCat("its blocks move from ", job_.plan()->partition().ps_count(), " to ",
                           ps_count_, " ps"),
              now);
  }
  proto::JobPlan plan = *job_.plan();
  *plan.mutable_partition() = std::move(places);
  job_.SetPlan(std::move(plan), outbox);
  absent_ = AbsentNow();
  survey_.SetAbsent(absent_);
}

bool JobLoader::replicated() const {
  return members_.options().workers_hold_parameters && ps_count_ > 1 &&
         job::KeepsReplicas(job_.job().strategy());
}

void JobLoader::BeginFromReplicas(uint64_t base, EventTime now, Outbox* outbox) {
  Place(cluster::MoveBlocksFrom(NextAbsent(now), FullPartition()), now, outbox);
  job_.BeginGenerationFromReplicas(base, outbox);
  newest_when_asked_.clear();
  resuming_ = false;
  restore_ = RestoreTracker(ps_count_, absent_);
  replicas_ = ReplicaSurvey(ps_count_, absent_);
  replica_choice_.reset();
  replicas_lost_ = false;
}

// --------------------------------------------------------------------------------- absent members

std::set<uint32_t> JobLoader::AbsentNow() const {
  const proto::PartitionMap& partition = job_.plan()->partition();
  const bool counts =
      members_.options().workers_hold_parameters && partition.ps_count() == ps_count_;
  return counts ? OthersThan(partition) : std::set<uint32_t>();
}

// The journal may also have ps of a larger cluster, or of one whose members could become absent.
std::vector<uint32_t> JobLoader::JournaledCutOff() const {
  std::vector<uint32_t> cut_off;
  for (const uint32_t ps : job_.run().cut_off_ps()) {
    if (elastic() && IsAbsent(ps)) cut_off.push_back(ps);
  }
  return cut_off;
}

bool JobLoader::elastic() const {
  return members_.options().workers_hold_parameters && ps_count_ > 1;
}

proto::PartitionMap JobLoader::FullPartition() const {
  return cluster::RebalanceBlocks(job_.record().partition(), ps_count_);
}

void JobLoader::NoteAway(EventTime now) {
  // A broken stream alone does not count: the process may be on its way back.
  bool any_lives = false;
  for (uint32_t ps = 0; ps < ps_count_; ++ps) {
    const Member* const member = members_.Find(PsTask(ps));
    any_lives |= member != nullptr && !member->lost;
  }
  if (!any_lives) all_lost_until_ = now.monotonic;
  for (uint32_t ps = 0; ps < ps_count_; ++ps) {
    if (members_.IsLive(PsTask(ps)) || !any_lives) {
      away_since_[ps].reset();
    } else if (!away_since_[ps].has_value()) {
      const std::optional<absl::Duration> since = members_.AwaySince(PsTask(ps));
      away_since_[ps] = std::max(since.value_or(now.monotonic), all_lost_until_);
    }
  }
}

std::set<uint32_t> JobLoader::NextAbsent(EventTime now) const {
  if (!elastic()) return {};
  std::set<uint32_t> absent;
  bool any_lives = false;
  for (const uint32_t ps : full_members_) {
    const std::optional<absl::Duration>& since = away_since_[ps];
    const bool overdue =
        since.has_value() && now.monotonic - *since >= members_.options().rejoin_timeout;
    const bool is_there = members_.IsLive(PsTask(ps)) && !IsCutOff(ps);
    any_lives |= is_there;
    if (!is_there && (overdue || IsCutOff(ps) || absent_.contains(ps))) absent.insert(ps);
  }
  if (any_lives) return absent;
  // Nobody is there to take the blocks.
  absent.clear();
  for (const uint32_t ps : full_members_) {
    if (absent_.contains(ps)) absent.insert(ps);
  }
  return absent;
}

std::string JobLoader::Returned() const {
  if (!elastic()) return "";
  std::set<uint32_t> returned;
  for (const uint32_t ps : full_members_) {
    const bool is_there = members_.IsLive(PsTask(ps)) && !IsCutOff(ps);
    if (absent_.contains(ps) && is_there) returned.insert(ps);
  }
  return PsNames(returned);
}

std::string JobLoader::Overdue(EventTime now) const {
  std::set<uint32_t> overdue = NextAbsent(now);
  std::erase_if(overdue, [this](uint32_t ps) { return IsAbsent(ps) || IsCutOff(ps); });
  return PsNames(overdue);
}

bool JobLoader::IsLoadableWithout(const std::set<uint32_t>& cut_off,
                                  const proto::Manifest& manifest) const {
  const auto is_there = [&](uint32_t ps) {
    return members_.IsLive(PsTask(ps)) && !cut_off.contains(ps) && !IsCutOff(ps);
  };
  return manifest.damaged().empty() &&
         std::all_of(manifest.parts().begin(), manifest.parts().end(),
                     [&](const proto::SnapshotPart& part) {
                       return part.blocks() == 0 || is_there(part.ps()) ||
                              std::any_of(part.copies().begin(), part.copies().end(), is_there);
                     });
}

void JobLoader::UpdateGaps(const std::vector<proto::Manifest>& manifests, bool stalled,
                           EventTime now) {
  if (!elastic()) return;
  std::set<uint32_t> present(full_members_.begin(), full_members_.end());
  for (const uint32_t ps : absent_) present.erase(ps);
  // Without replicas the job goes back to a checkpoint. A worker without parameters may reach all
  // members, so the job's progress decides whether this is necessary.
  const auto may_leave = [&](const std::set<uint32_t>& cut_off) {
    return replicated() || (stalled && std::any_of(manifests.begin(), manifests.end(),
                                                   [&](const proto::Manifest& manifest) {
                                                     return IsLoadableWithout(cut_off, manifest);
                                                   }));
  };
  cut_off_.Update(std::move(present), replicated(), may_leave, now.monotonic);
  // Journaled with the generation that begins.
  const std::vector<uint32_t> cut_off = cut_off_.All();
  job_.run().mutable_cut_off_ps()->Assign(cut_off.begin(), cut_off.end());
}

std::string JobLoader::CutOff(EventTime now) const {
  // If nobody is there to take their blocks, the next generation would have the same members.
  const std::set<uint32_t> next_absent = NextAbsent(now);
  std::set<uint32_t> gone;
  std::vector<std::string> why;
  for (const uint32_t ps : cut_off_.All()) {
    if (IsAbsent(ps) || !next_absent.contains(ps)) continue;
    gone.insert(ps);
    why.push_back(cut_off_.Why(ps));
  }
  if (gone.empty()) return "";
  return absl::StrCat(absl::StrJoin(why, ", "), ": the job goes on without ", PsNames(gone));
}

void JobLoader::ChangeMembers(EventTime now, Outbox* outbox) {
  const std::string returned = Returned();
  const std::string overdue = Overdue(now);
  const std::string cut_off = CutOff(now);
  if (returned.empty() && overdue.empty() && cut_off.empty()) return;
  if (!returned.empty()) job_.Note(absl::StrCat(returned, " takes part again"), now);
  if (!overdue.empty()) {
    job_.Note(absl::StrCat("goes on without ", overdue, ", which did not come back within ",
                           absl::FormatDuration(members_.options().rejoin_timeout),
                           ": its blocks move to the others"),
              now);
  }
  if (!cut_off.empty()) job_.Note(cut_off, now);
  const uint64_t base = job_.run().base_checkpoint();
  if (job_.run().from_replicas()) {
    BeginFromReplicas(base, now, outbox);
  } else {
    Begin(base, now, outbox);
  }
  awaited_.clear();
  not_before_ = -absl::InfiniteDuration();
}

// -------------------------------------------------------------------------------------- the ps

void JobLoader::PsJoined(uint32_t ps, bool has_job, bool continues, Outbox* outbox) {
  const bool was_loading = away_loading_.erase(ps) > 0;
  if (IsAbsent(ps)) return;  // It gets a part when the next generation begins.
  if (!resuming_) {
    if (was_loading && !continues) CountDeath(ps, outbox);
    return continues ? PsAway(ps) : PsLost(ps);
  }
  if (!has_job) return;
  // The join itself carries no ledger: a ps writes it on a thread that must not wait for the owners
  // of its blocks.
  proto::Command command;
  command.mutable_ledger_query()->set_job_id(job_.id());
  command.mutable_ledger_query()->set_generation(job_.run().generation());
  outbox->Send(PsTask(ps), std::move(command));
}

void JobLoader::OnLedger(uint32_t ps, const proto::LedgerReply& reply) {
  const bool ours = reply.job_id() == job_.id() && reply.generation() == job_.run().generation();
  if (ours && resuming_) restore_.PsHas(ps, reply);
}

// The process is gone: the kernel ends one that needs more memory than there is.
void JobLoader::CountDeath(uint32_t ps, Outbox* outbox) {
  absl::StatusOr<std::vector<PsSize>> sizes = ComputeSizes(*job_.plan());
  if (sizes.ok() && replicated()) AddReplicas(&*sizes);
  std::string needed;
  if (!sizes.ok() || !MayExhaust(*sizes, ps, members_, &needed)) return;
  CountExhausted(absl::StrCat("ps ", ps, " ended while it loaded the job: ", needed), outbox);
}

void JobLoader::CountExhausted(const std::string& what, Outbox* outbox) {
  job_.run().set_starts_exhausted(job_.run().starts_exhausted() + 1);
  job_.SaveRun(outbox);
  CAIRN_LOG_WARNING("memory is short", "job", job_.id(), "tries", job_.run().starts_exhausted(),
                    "what", what);
  if (job_.run().starts_exhausted() < kExhaustedMax) return;
  failure_ = absl::StrCat("it does not fit into memory, in ", kExhaustedMax, " tries: ", what);
}

void JobLoader::PsAway(uint32_t ps) {
  if (IsAbsent(ps)) return;
  if (restore_.Awaits(ps)) away_loading_.insert(ps);
  newest_when_asked_.erase(ps);
  survey_.PsAway(ps);
  restore_.PsAway(ps);
  replicas_.PsAway(ps);
}

void JobLoader::PsLost(uint32_t ps) {
  if (IsAbsent(ps)) return;
  newest_when_asked_.erase(ps);
  survey_.PsLost(ps);
  restore_.PsLost(ps);
  choice_.reset();
  replicas_.AskAgain();
  replica_choice_.reset();
}

void JobLoader::OnReplicaOffer(uint32_t ps, const proto::ReplicaOffer& offer) {
  const bool awaited = !resuming_ && job_.run().from_replicas() &&
                       offer.generation() == job_.run().generation() && replicas_.Awaits(ps);
  if (awaited) replicas_.Reply(ps, offer);
}

void JobLoader::RequestSnapshotLists(uint32_t ps, const std::vector<proto::Manifest>& manifests,
                                     Outbox* outbox) {
  survey_.NoteOtherQuery(ps);
  if (!manifests.empty()) newest_when_asked_[ps] = manifests.back().checkpoint();
  outbox->Send(PsTask(ps), ListCommand(job_.id()));
}

void JobLoader::OnSnapshots(uint32_t ps, const proto::SnapshotList& list,
                            const std::vector<proto::Manifest>& manifests, Outbox* outbox) {
  const std::vector<uint32_t> hanging = survey_.Hanging();
  survey_.Reply(ps, list);
  // What was awaited may be there.
  if (hanging != survey_.Hanging()) not_before_ = -absl::InfiniteDuration();
  DeleteLeftovers(ps, list, manifests, outbox);
  if (!HasLostPart(ps, manifests) || list.incomplete()) return;
  CAIRN_LOG_WARNING("a ps has lost its part of the newest checkpoint; a new one is taken", "job",
                    job_.id(), "ps", ps, "checkpoint", manifests.back().checkpoint());
  job_.run().set_renew_checkpoint(true);
  job_.SaveRun(outbox);
}

// Whether the newest checkpoint is not on the ps's own disk any more, although it was when the list
// was requested: with replicas, a member that lost its disk costs no rollback, which would notice
// this. A checkpoint that was completed since then is on the new disk.
bool JobLoader::HasLostPart(uint32_t ps, const std::vector<proto::Manifest>& manifests) {
  if (survey_.Owes(ps)) return false;
  const auto asked = newest_when_asked_.extract(ps);
  if (asked.empty() || manifests.empty()) return false;
  const proto::Manifest& newest = manifests.back();
  if (newest.checkpoint() != asked.mapped() || !newest.damaged().empty()) return false;
  // One that was passed over is not the newest of this generation's history.
  if (newest.checkpoint() > job_.run().base_checkpoint() &&
      newest.generation() != job_.run().generation()) {
    return false;
  }
  if (newest.partition().ps_count() != ps_count_) return false;
  for (const proto::SnapshotPart& part : newest.parts()) {
    if (part.ps() != ps || part.blocks() == 0) continue;
    const std::vector<uint32_t> keepers = survey_.Keepers(newest.checkpoint(), part);
    return std::find(keepers.begin(), keepers.end(), ps) == keepers.end();
  }
  return false;
}

// Deletes snapshots that no manifest names or ever will: of cuts whose generation ended before all
// ps had written their parts, and of checkpoints that were deleted while this ps or the coordinator
// was away. A manifest is made only of the held cut, and cut numbers are never reused, so this
// holds however old the list is.
void JobLoader::DeleteLeftovers(uint32_t ps, const proto::SnapshotList& list,
                                const std::vector<proto::Manifest>& manifests, Outbox* outbox) {
  const proto::RunRecord& run = job_.run();
  std::set<uint64_t> leftovers;
  for (const proto::ReadableSnapshot& snapshot : list.snapshots()) {
    const uint64_t checkpoint = snapshot.checkpoint();
    const bool may_become_one =
        checkpoint > run.last_cut() || (run.has_kept_cut() && checkpoint == run.kept_cut().cut());
    const bool known = may_become_one || FindManifest(manifests, checkpoint) != nullptr;
    if (snapshot.own_disk() && !known) leftovers.insert(checkpoint);
  }
  for (const uint64_t checkpoint : leftovers) {
    CAIRN_LOG_INFO("deleting a snapshot that belongs to no checkpoint", "job", job_.id(), "ps", ps,
                   "number", checkpoint);
    proto::Command command;
    command.mutable_delete_checkpoint()->set_job_id(job_.id());
    command.mutable_delete_checkpoint()->set_checkpoint(checkpoint);
    outbox->Send(PsTask(ps), std::move(command));
  }
}

void JobLoader::OnDiskProgress(uint32_t ps, uint64_t progress, EventTime now) {
  if (ps >= disks_.size() || disks_[ps].progress == progress) return;
  disks_[ps].progress = progress;
  disks_[ps].since = now.monotonic;
}

// The disk of a live ps may hang while it lists its snapshots or loads a part. Then the part is
// taken from another place. If there is none, the ps goes on when its disk does.
void JobLoader::GiveUpHanging(EventTime now) {
  const absl::Duration timeout = members_.options().progress_timeout;
  for (uint32_t ps = 0; ps < ps_count_; ++ps) {
    // Initial values are computed, which is no progress of a disk, or have no copies.
    const bool reads = choice_.has_value() && choice_->checkpoint != 0;
    const bool awaited = survey_.Awaits(ps) || (reads && restore_.Awaits(ps));
    if (awaited && !disks_[ps].awaited) disks_[ps].since = now.monotonic;
    disks_[ps].awaited = awaited;
    if (!awaited || now.monotonic - disks_[ps].since <= timeout) continue;
    disks_[ps].awaited = false;
    const std::vector<uint32_t> hanging = survey_.Hanging();
    // It reads from other ps already, whose requests have limits of their own.
    if (std::find(hanging.begin(), hanging.end(), ps) != hanging.end()) continue;
    job_.Note(absl::StrCat("ps ", ps, " has read nothing for ", absl::FormatDuration(timeout),
                           ": its disk may hang; its part is loaded from elsewhere if possible"),
              now);
    survey_.SetHangs(ps);
    if (restore_.Awaits(ps)) restore_.PsLost(ps);
    choice_.reset();
  }
}

void JobLoader::OnRestored(uint32_t ps, const proto::RestoreReply& reply, EventTime now,
                           Outbox* outbox) {
  const uint64_t checkpoint = job_.run().base_checkpoint();
  if (resuming_ || reply.generation() != job_.run().generation() ||
      reply.checkpoint() != checkpoint) {
    return;
  }
  const std::string error = restore_.Reply(ps, reply);
  if (error.empty()) return;
  const std::string what = absl::StrCat("ps ", ps, ": ", error);
  const bool exhausted = reply.exhausted_bytes() > 0;
  if (exhausted) CountExhausted(what, outbox);
  if (reply.transient()) {
    // A transient error: the ps surveys its disks again and the restore is repeated.
    CAIRN_LOG_WARNING("a checkpoint could not be loaded; trying again", "job", job_.id(), "error",
                      what);
    PsLost(ps);
    trouble_ = what;
    not_before_ = now.monotonic + (exhausted ? kTryExhaustedAgain : kTryAgain);
  } else if (job_.run().from_replicas()) {
    job_.Note(absl::StrCat("the blocks in memory cannot be loaded (", what, ")"), now);
    replicas_lost_ = true;
    // The initial values have no older version to go back to.
  } else if (checkpoint == 0) {
    failure_ = absl::StrCat("the initial values cannot be loaded: ", what);
  } else {
    job_.Note(absl::StrCat("checkpoint ", checkpoint, " cannot be loaded (", what, ")"), now);
    // The next choice skips this checkpoint and takes an older one.
    job_.MarkDamaged(checkpoint, what, outbox);
    choice_.reset();
  }
}

// ------------------------------------------------------------------------------------- progress

void JobLoader::Advance(EventTime now, Outbox* outbox) {
  NoteAway(now);
  if (resuming_ || !failure_.empty()) return;
  ChangeMembers(now, outbox);
  if (now.monotonic < not_before_) return;
  // The members that are there end the last generation at once, even if others are absent.
  if (job_.run().from_replicas()) AskForReplicas(outbox);
  // A choice needs the answers of all ps: one that is away may have the newest checkpoint.
  for (uint32_t ps = 0; ps < ps_count_; ++ps) {
    if (!IsAbsent(ps) && !members_.IsLive(PsTask(ps))) return;
  }
  if (job_.run().from_replicas()) {
    if (!replica_choice_.has_value()) ChooseReplicas(now, outbox);
    if (replica_choice_.has_value()) TellPs(outbox);
    return;
  }
  GiveUpHanging(now);
  if (!choice_.has_value()) Choose(now, outbox);
  if (choice_.has_value()) TellPs(outbox);
}

void JobLoader::AskForReplicas(Outbox* outbox) {
  for (uint32_t ps = 0; ps < ps_count_; ++ps) {
    if (!members_.IsLive(PsTask(ps)) || !replicas_.MustAsk(ps)) continue;
    replicas_.Asked(ps);
    proto::Command command;
    command.mutable_offer_replicas()->set_job_id(job_.id());
    command.mutable_offer_replicas()->set_generation(job_.run().generation());
    outbox->Send(PsTask(ps), std::move(command));
  }
}

void JobLoader::ChooseReplicas(EventTime now, Outbox* outbox) {
  if (!replicas_.complete()) return;
  proto::RunRecord& run = job_.run();
  std::optional<proto::ReplicaSource> choice = replicas_.Choose(run.replicas_since());
  // Epochs that were cut, and perhaps evaluated, are never trained again: a version before their
  // end cannot be one of this job's newest.
  const int64_t end = run.has_stop_at_batch() ? run.stop_at_batch() : job_.plan()->total_batches();
  const int64_t cut = std::min(run.epochs_cut() * job_.plan()->batches_per_epoch(), end);
  if (!choice.has_value() || choice->version() < cut) {
    replicas_lost_ = true;
    return;
  }
  // A generation is bound to its version in the journal, as to its checkpoint.
  if (run.has_replica_version() && run.replica_version() != choice->version()) {
    return BeginFromReplicas(run.base_checkpoint(), now, outbox);
  }
  run.set_replica_version(choice->version());
  job_.SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.choose_replicas"); });
  replica_choice_ = std::move(choice);
  trouble_.clear();
  // A ps that was told other holders may be waiting for one that is gone.
  for (uint32_t ps = 0; ps < ps_count_; ++ps) {
    if (restore_.Awaits(ps)) restore_.PsAway(ps);
  }
}

void JobLoader::Choose(EventTime now, Outbox* outbox) {
  if (job_.manifests().empty()) return Take(CheckpointChoice(), now, outbox);
  if (std::exchange(ask_again_, false)) survey_.AskAgain();
  for (const uint32_t ps : survey_.TakePsToQuery())
    outbox->Send(PsTask(ps), ListCommand(job_.id()));
  if (!survey_.complete()) return;
  const CheckpointChoice choice =
      ChooseCheckpoint(job_.manifests(), survey_, ps_count_, job_.copies());
  if (choice.awaited.empty()) return Take(choice, now, outbox);
  if (!survey_.Hanging().empty()) {
    return Await(absl::StrCat("for the disk of ", PsNames(choice.awaited),
                              ", which does not answer (", CheckpointName(choice.checkpoint), ")"),
                 now);
  }
  const bool all_absent =
      std::includes(absent_.begin(), absent_.end(), choice.awaited.begin(), choice.awaited.end());
  if (all_absent) {
    return Await(
        absl::StrCat("for ", PsNames(choice.awaited), ", which is away or cut off and alone ",
                     "has its part of checkpoint ", choice.checkpoint,
                     ": start it, or put its directory beside those of the others"),
        now);
  }
  Await(absl::StrCat("for the snapshots of ", PsNames(choice.awaited), " (checkpoint ",
                     choice.checkpoint,
                     "): start a cluster that has it, or put its directory "
                     "beside those of the others"),
        now);
}

void JobLoader::Await(const std::string& what, EventTime now) {
  const std::string warning = absl::StrCat("waiting ", what);
  if (job_.run().warning() != warning) {
    CAIRN_LOG_WARNING("waiting", "job", job_.id(), "what", what);
    job_.run().set_warning(warning);
  }
  awaited_ = what;
  ask_again_ = true;
  not_before_ = now.monotonic + kAskAgain;
}

void JobLoader::Take(const CheckpointChoice& choice, EventTime now, Outbox* outbox) {
  if (choice.checkpoint == 0 && !job_.manifests().empty() && job_.fails_without_checkpoint()) {
    failure_ = "no complete checkpoint is left";
    return;
  }
  // Uploaded initial values are only on the disks of the ps that had the blocks at the job's
  // acceptance. Others load them from there.
  if (choice.checkpoint == 0 && job_.plan()->weights_uploaded()) {
    const proto::PartitionMap& first = job_.record().partition();
    std::set<uint32_t> missing;
    for (const auto& block : first.blocks()) {
      if (block.ps() >= ps_count_ || IsAbsent(block.ps())) missing.insert(block.ps());
    }
    if (!missing.empty() && *missing.rbegin() >= ps_count_) {
      return Await(
          absl::StrCat("for a cluster of ", first.ps_count(), " ps (this one has ", ps_count_,
                       "): there is no checkpoint yet, and the initial values that were "
                       "uploaded lie there"),
          now);
    }
    if (!missing.empty()) {
      return Await(
          absl::StrCat(
              "for ", PsNames(missing), ", which is away or cut off: there is no ",
              "checkpoint yet, and a part of the initial values that were uploaded is there"),
          now);
    }
  }
  awaited_.clear();
  trouble_.clear();
  const uint64_t base = job_.run().base_checkpoint();
  // A generation is bound to its checkpoint in the journal. Another checkpoint needs another
  // generation, so that late pushes and replies of this one are refused.
  if (choice.checkpoint != base) {
    job_.Note(choice.checkpoint > base
                  ? absl::StrCat(CheckpointName(choice.checkpoint), " is complete: goes on from it")
                  : absl::StrCat(CheckpointName(base), " is not complete: back to ",
                                 CheckpointName(choice.checkpoint)),
              now);
    Begin(choice.checkpoint, now, outbox);
  }
  const std::string warning = Warning(choice);
  if (!warning.empty() && warning != job_.run().warning()) {
    job_.Note(absl::StrCat("WARNING: ", warning), now);
    CAIRN_LOG_WARNING("snapshots are missing", "job", job_.id(), "what", warning);
  }
  job_.run().set_warning(warning);
  job_.run().set_renew_checkpoint(choice.checkpoint != 0 && choice.scattered);
  job_.SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.choose_checkpoint"); });
  choice_ = choice;
}

std::string JobLoader::Warning(const CheckpointChoice& choice) const {
  if (choice.without.empty()) return "";
  const std::vector<uint32_t> hanging = survey_.Hanging();
  if (!hanging.empty()) {
    const std::string hangs = absl::StrCat(
        "the disk of ", PsNames({hanging.begin(), hanging.end()}), " does not answer. ");
    if (choice.checkpoint == job_.NewestCheckpoint())
      return hangs + "Its blocks were taken from copies";
    return absl::StrCat(hangs, "Checkpoint ", job_.NewestCheckpoint(), " was passed over for ",
                        CheckpointName(choice.checkpoint));
  }
  const std::string without = absl::StrCat(PsNames(choice.without),
                                           " came back without its snapshots: a new disk, "
                                           "another --state, or damaged files (its log names "
                                           "them)? ");
  const uint64_t newest = job_.NewestCheckpoint();
  if (choice.checkpoint == newest) return without + "Its blocks were taken from copies";
  return absl::StrCat(without, "Checkpoint ", newest, " was passed over for ",
                      CheckpointName(choice.checkpoint),
                      "; it is kept until the next one is written, and taken up again if the disk "
                      "comes back before");
}

void JobLoader::TellPs(Outbox* outbox) {
  const uint64_t checkpoint = job_.run().base_checkpoint();
  proto::Command command;
  proto::Restore* restore = command.mutable_restore();
  restore->set_job_id(job_.id());
  restore->set_plan_fingerprint(job_.shared_plan()->fingerprint);
  restore->set_generation(job_.run().generation());
  restore->set_checkpoint(checkpoint);
  *restore->mutable_rates() = storage::RatesOf(job_.run());
  restore->set_replicated(replicated());
  if (replica_choice_.has_value()) *restore->mutable_replicas() = *replica_choice_;
  if (choice_.has_value()) {
    for (const proto::SnapshotSource& part : choice_->parts) *restore->add_parts() = part;
  }
  // Values from initializers are computed anywhere.
  const bool from_disks = checkpoint != 0 || job_.plan()->weights_uploaded();
  if (choice_.has_value() && from_disks &&
      !SamePlaces(PartitionOf(job_, checkpoint), job_.plan()->partition())) {
    *restore->mutable_source() = PartitionOf(job_, checkpoint);
  }
  for (const uint32_t ps : restore_.TakePsToRestore()) {
    outbox->Send(PsTask(ps), command, job_.shared_plan());
  }
}

std::string JobLoader::WaitingFor() const {
  if (!awaited_.empty()) return awaited_;
  if (!trouble_.empty() && !choice_.has_value()) {
    return absl::StrCat("to try again: ", trouble_);
  }
  if (resuming_) return "";
  for (uint32_t ps = 0; ps < ps_count_; ++ps) {
    if (replicas_.Awaits(ps)) return absl::StrCat("for ps ", ps, " to say what it has in memory");
    if (survey_.Awaits(ps)) return absl::StrCat("for ps ", ps, " to list its snapshots");
    if (restore_.Awaits(ps)) return absl::StrCat("for ps ", ps, " to load its blocks");
  }
  return "for the ps to load their blocks";
}

}  // namespace cairn::coordinator
