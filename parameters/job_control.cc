#include "parameters/job_control.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cluster/partition_map.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "nn/model.h"
#include "parameters/initial_values.h"
#include "parameters/snapshots/snapshot.h"
#include "parameters/update_replicator.h"
#include "storage/disk_progress.h"
#include "storage/rate_changes.h"

namespace cairn::parameters {

namespace {

// The coordinator has one cut written at a time and requests the next after the reply.
constexpr size_t kSnapshotQueueMax = 16;
constexpr size_t kFilesQueueMax = 256;
// A write that takes longer may hang. The coordinator has given it up if it asks for another one,
// which is then refused: every waiting cut keeps a copy of the values in memory.
constexpr absl::Duration kWriteMayTake = absl::Seconds(10);
// Training has priority over writing and copying snapshots where workers and ps share cores.
constexpr auto kBackground = ThreadPool::Priority::kBackground;

// Whether both load the same blocks from the same places.
bool SameLoad(const proto::Restore& a, const proto::Restore& b) {
  return a.plan().job_id() == b.plan().job_id() && a.generation() == b.generation() &&
         a.checkpoint() == b.checkpoint() &&
         a.replicas().SerializeAsString() == b.replicas().SerializeAsString() &&
         std::equal(a.parts().begin(), a.parts().end(), b.parts().begin(), b.parts().end(),
                    [](const auto& x, const auto& y) {
                      return x.SerializeAsString() == y.SerializeAsString();
                    });
}

// Turns a lack of memory or threads into a status. An exception that leaves a thread would end the
// process, although training may go on.
template <typename Function>
auto OrExhausted(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("memory is short");
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread: ", error.what()));
  }
}

}  // namespace

JobControl::JobControl(const Parts& parts, Send send)
    : parts_(parts),
      send_(std::move(send)),
      loader_(parts.ps, parts.catalog, parts.fetcher, parts.pool),
      replica_loader_(parts.ps, parts.fetcher, parts.pool),
      copier_(parts.snapshots, parts.fetcher),
      writes_cancelled_(std::make_shared<std::atomic<bool>>(false)),
      snapshots_(std::in_place, 1, "snapshots", kSnapshotQueueMax, kBackground),
      copies_(std::in_place, 1, "copies", kSnapshotQueueMax, kBackground),
      files_(std::in_place, 1, "files", kFilesQueueMax, kBackground) {}

JobControl::~JobControl() { Stop(); }

void JobControl::Stop() {
  ReplaceLoad();
  CancelWrites();
  for (const auto& loading : loads_) loading->thread.join();
  loads_.clear();
  snapshots_.reset();
  copies_.reset();
  files_.reset();
}

void JobControl::Handle(const proto::Command& command) {
  switch (command.command_case()) {
    case proto::Command::kRestore:
      return Restore(command.restore());
    case proto::Command::kStopJob:
      return StopJob(command.stop_job());
    case proto::Command::kLedgerQuery:
      return QueryLedgers(command.ledger_query());
    case proto::Command::kMakeCut:
      return MakeCut(command.make_cut());
    case proto::Command::kPersist:
      return Persist(command.persist());
    case proto::Command::kDropCut:
      return parts_.store->DropCut(command.drop_cut().job_id(), command.drop_cut().cut());
    case proto::Command::kDeleteCheckpoint:
      return DeleteCheckpoint(command.delete_checkpoint());
    case proto::Command::kSetRates:
      return SetRates(command.set_rates());
    case proto::Command::kProfile:
      return Profile(command.profile());
    case proto::Command::kListSnapshots:
      return ListSnapshots(command.list_snapshots());
    case proto::Command::kCopySnapshot:
      return CopySnapshot(command.copy_snapshot());
    case proto::Command::kOfferReplicas:
      return OfferReplicas(command.offer_replicas());
    case proto::Command::kExpectUpload:
      return parts_.uploads->Expect(command.expect_upload().job_id(),
                                    command.expect_upload().bytes());
    default:
      CAIRN_LOG_WARNING("dropped a command that is not for a ps", "command",
                        static_cast<int>(command.command_case()));
  }
}

void JobControl::LeaveCluster() {
  ReplaceLoad();
  parts_.store->Drop(absl::AbortedError("the parameter server has joined another cluster"));
  parts_.pool->Trim();
}

void JobControl::FillJoin(proto::Join* join) const {
  const std::shared_ptr<JobBlocks> job = parts_.store->current();
  if (job == nullptr) return;
  join->set_job_id(job->layout()->job_id());
  join->set_generation(job->generation());
  join->set_duplicates_refused(parts_.store->counters().duplicates_refused);
  MutexLock lock(&mutex_);
  join->set_plan_fingerprint(plan_fingerprint_);
}

void JobControl::FillHeartbeat(proto::Heartbeat* heartbeat) {
  // A disk that hangs must not delay the heartbeat: it has the result of an earlier one's question.
  heartbeat->set_disk_free_bytes(disk_free_);
  if (!disk_free_wanted_.exchange(true)) {
    const bool queued = files_->TrySubmit([this] {
      disk_free_ = parts_.snapshots->FreeBytes();
      disk_free_wanted_ = false;
    });
    if (!queued) disk_free_wanted_ = false;
  }
  const ParameterStore::Counters& counters = parts_.store->counters();
  heartbeat->set_duplicates_refused(counters.duplicates_refused);
  heartbeat->set_messages_refused(counters.invalid_requests + parts_.uploads->refused());
  heartbeat->set_pulls(counters.pulls);
  heartbeat->set_pushes(counters.pushes);
  heartbeat->set_disk_progress(storage::disk_progress.load(std::memory_order_relaxed));
}

absl::StatusOr<proto::Restore> JobControl::WithPlan(proto::Restore command) const {
  if (command.has_plan()) return command;
  const std::shared_ptr<JobBlocks> job = parts_.store->current();
  // Of a generation that has ended.
  const std::shared_ptr<const ReplicaSet> kept =
      job == nullptr ? parts_.store->replicas() : nullptr;
  MutexLock lock(&mutex_);
  if (loading_ != nullptr && loading_->command.plan_fingerprint() == command.plan_fingerprint()) {
    *command.mutable_plan() = loading_->command.plan();
    return command;
  }
  if (plan_fingerprint_ == command.plan_fingerprint() && job != nullptr) {
    *command.mutable_plan() = job->layout()->plan();
    return command;
  }
  if (plan_fingerprint_ == command.plan_fingerprint() && kept != nullptr) {
    *command.mutable_plan() = kept->plan();
    return command;
  }
  return absl::UnavailableError("the plan of the job is missing here");
}

void JobControl::Restore(const proto::Restore& received) {
  if (absl::Status hit = CAIRN_FAILPOINT("ps.restore"); !hit.ok()) {
    return SendRestoreReply(received, hit);
  }
  const absl::StatusOr<proto::Restore> whole = WithPlan(received);
  if (!whole.ok()) return SendRestoreReply(received, whole.status());
  const proto::Restore& command = *whole;
  if (const absl::StatusOr<bool> has = HasJob(command); !has.ok() || *has) {
    return SendRestoreReply(command, has.status());
  }
  {
    MutexLock lock(&mutex_);
    if (loading_ != nullptr && SameLoad(loading_->command, command)) return;
  }
  ReplaceLoad();
  // Drop the old blocks first, because two generations may not fit into memory. The pool keeps the
  // buffers of the same job for the new blocks.
  const uint64_t job_id = command.plan().job_id();
  const bool other_job = CurrentJobId() != job_id;
  CancelWrites();
  // What is in memory may be the source. It is kept until the new blocks are installed, in case the
  // load is replaced by another one.
  const std::shared_ptr<const ReplicaSet> kept = KeptFor(command);
  if (kept == nullptr) {
    parts_.store->Drop(absl::AbortedError(
        absl::StrCat("job ", job_id, " is restored in generation ", command.generation())));
  }
  if (other_job) parts_.pool->Trim();
  std::erase_if(loads_, [](const auto& loading) {
    if (!loading->over) return false;
    loading->thread.join();
    return true;
  });
  loads_.push_back(std::make_unique<Loading>());
  Loading* const loading = loads_.back().get();
  loading->command = command;
  loading->kept = kept;
  {
    MutexLock lock(&mutex_);
    loading_ = loading;
  }
  try {
    loading->thread = std::thread([this, loading] { RunLoad(loading); });
  } catch (const std::system_error& error) {
    ReplaceLoad();
    loads_.pop_back();
    SendRestoreReply(
        command, NoMemoryForJob(command, absl::StrCat("a thread to load the job: ", error.what())));
  }
}

std::shared_ptr<const ReplicaSet> JobControl::KeptFor(const proto::Restore& command) const {
  if (!command.has_replicas() || parts_.store->current() != nullptr) return nullptr;
  std::shared_ptr<const ReplicaSet> kept = parts_.store->replicas();
  if (kept == nullptr || kept->job_id() != command.plan().job_id()) return nullptr;
  return kept;
}

// The status has the bytes of the job on this ps.
absl::Status JobControl::NoMemoryForJob(const proto::Restore& command,
                                        const std::string& what) const {
  int64_t elements = 0;
  const proto::PartitionMap& partition = command.plan().partition();
  for (const uint32_t block : cluster::BlocksOfPs(partition, parts_.ps)) {
    elements += cluster::BlockElements(partition, block);
  }
  return NoMemoryFor(what, elements);
}

absl::StatusOr<bool> JobControl::HasJob(const proto::Restore& command) const {
  const uint64_t job_id = command.plan().job_id();
  const std::shared_ptr<JobBlocks> current = parts_.store->current();
  if (current == nullptr || current->layout()->job_id() != job_id) return false;
  if (current->generation() > command.generation()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "ps ", parts_.ps, " has job ", job_id, " in generation ", current->generation(),
        " and does not go back to generation ", command.generation()));
  }
  return current->generation() == command.generation() &&
         current->checkpoint() == command.checkpoint();
}

void JobControl::ReplaceLoad() {
  MutexLock lock(&mutex_);
  if (loading_ != nullptr) loading_->replaced = true;
  loading_ = nullptr;
}

void JobControl::CancelWrites() {
  *writes_cancelled_ = true;
  writes_cancelled_ = std::make_shared<std::atomic<bool>>(false);
}

void JobControl::RunLoad(Loading* loading) {
  const proto::Restore& command = loading->command;
  {
    // The cuts of the old generation are as large as its blocks. A write that hangs is not awaited.
    const absl::Time until = absl::Now() + kWriteMayTake;
    MutexLock lock(&mutex_);
    while (writes_pending_ > 0 && !loading->replaced && absl::Now() < until) {
      write_ended_.WaitFor(&mutex_, std::chrono::milliseconds(100));
    }
  }
  absl::StatusOr<Loaded> job = LoadOrExhaust(*loading);
  // Otherwise what did fit would stay in the pool.
  if (!job.ok()) parts_.pool->Trim();
  bool replaced = false;
  {
    // A StopJob or another Restore either finds the installed blocks or replaces this load before.
    MutexLock lock(&mutex_);
    replaced = loading_ != loading;
    if (!replaced && job.ok()) {
      plan_fingerprint_ = command.plan_fingerprint();
      parts_.store->Install(std::move(job->job), std::move(job->replicas));
    }
    if (!replaced) loading_ = nullptr;
  }
  loading->kept.reset();
  if (replaced) {
    CAIRN_LOG_INFO("a restore was replaced", "job", command.plan().job_id(), "generation",
                   command.generation(), "checkpoint", command.checkpoint());
  } else {
    SendRestoreReply(command, job.status());
  }
  loading->over = true;
}

void JobControl::SendRestoreReply(const proto::Restore& command, const absl::Status& status) {
  CAIRN_FAILPOINT("ps.restored").IgnoreError();
  proto::TaskMessage message;
  proto::RestoreReply& reply = *message.mutable_restored();
  const uint64_t job_id = command.has_plan() ? command.plan().job_id() : command.job_id();
  reply.set_job_id(job_id);
  reply.set_generation(command.generation());
  reply.set_checkpoint(command.checkpoint());
  if (status.ok()) {
    *reply.mutable_ledger() = parts_.store->Ledgers();
  } else {
    CAIRN_LOG_ERROR("restore failed", "job", job_id, "generation", command.generation(),
                    "checkpoint", command.checkpoint(), "error", status);
    reply.set_error(std::string(status.message()));
    reply.set_transient(CheckpointLoader::IsTransient(status));
    reply.set_exhausted_bytes(ExhaustedBytes(status));
  }
  send_(std::move(message));
}

// Blocks report that memory is short. Everything else throws.
absl::StatusOr<JobControl::Loaded> JobControl::LoadOrExhaust(const Loading& loading) {
  try {
    return Load(loading);
  } catch (const std::bad_alloc&) {
    return NoMemoryForJob(loading.command, "the job");
  } catch (const std::system_error& error) {
    return NoMemoryForJob(loading.command, absl::StrCat("a thread: ", error.what()));
  }
}

absl::StatusOr<std::vector<BlockState>> JobControl::InitialStates(const JobLayout& layout,
                                                                  const proto::Restore& command) {
  const bool are_here = layout.part() == JobLayout::Part::kOwned && !command.has_source();
  if (!layout.plan().weights_uploaded() || are_here) {
    return MakeInitialStates(layout, parts_.uploads, parts_.pool);
  }
  CAIRN_ASSIGN_OR_RETURN(std::vector<BlockState> states,
                         MakeInitialStates(layout, nullptr, parts_.pool));
  const proto::PartitionMap& places =
      command.has_source() ? command.source() : layout.plan().partition();
  CAIRN_RETURN_IF_ERROR(replica_loader_.FetchUploads(layout, places, parts_.uploads, &states));
  return states;
}

absl::StatusOr<std::vector<BlockState>> JobControl::LoadStates(const JobLayout& layout,
                                                               const Loading& loading) {
  const proto::Restore& command = loading.command;
  if (command.has_replicas()) {
    return replica_loader_.Load(layout, command.replicas(), loading.kept.get(), loading.replaced);
  }
  if (command.checkpoint() == 0) return InitialStates(layout, command);
  return loader_.Load(layout, command, loading.replaced);
}

absl::StatusOr<JobControl::Loaded> JobControl::Load(const Loading& loading) {
  const proto::Restore& command = loading.command;
  const proto::JobPlan& plan = command.plan();
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<nn::Model> model, nn::Model::Create(plan.model()));
  const JobGeneration generation = {command.generation(), command.checkpoint()};
  const auto rates = command.rates().empty()
                         ? nullptr
                         : std::make_shared<const storage::RateChanges>(command.rates());
  Loaded loaded;
  CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<const JobLayout> layout,
                         JobLayout::Create(plan, model->variables(), parts_.ps));
  CAIRN_ASSIGN_OR_RETURN(std::vector<BlockState> states, LoadStates(*layout, loading));
  JobBlocks::Options options = parts_.job_options;
  if (command.replicated()) {
    CAIRN_ASSIGN_OR_RETURN(
        std::shared_ptr<const JobLayout> others,
        JobLayout::Create(plan, model->variables(), parts_.ps, JobLayout::Part::kReplicas));
    CAIRN_ASSIGN_OR_RETURN(std::vector<BlockState> replicas, LoadStates(*others, loading));
    JobBlocks::Options of_replicas = parts_.job_options;
    of_replicas.block.is_replica = true;
    loaded.replicas = JobBlocks::Create(std::move(others), generation, std::move(replicas),
                                        parts_.owners, parts_.pool, of_replicas);
    if (rates != nullptr) loaded.replicas->SetRates(rates);
    options.replicator = std::make_shared<UpdateReplicator>(parts_.ps, layout, command.generation(),
                                                            parts_.fetcher->client_options());
  }
  loaded.job =
      JobBlocks::Create(layout, generation, std::move(states), parts_.owners, parts_.pool, options);
  if (rates != nullptr) loaded.job->SetRates(rates);
  CAIRN_LOG_INFO("restored", "job", plan.job_id(), "generation", command.generation(), "checkpoint",
                 command.checkpoint(), "blocks", layout->blocks().size());
  return loaded;
}

uint64_t JobControl::CurrentJobId() const {
  const std::shared_ptr<JobBlocks> current = parts_.store->current();
  if (current != nullptr) return current->layout()->job_id();
  const std::shared_ptr<const ReplicaSet> kept = parts_.store->replicas();
  return kept != nullptr ? kept->job_id() : 0;
}

void JobControl::StopJob(const proto::StopJob& command) {
  CAIRN_FAILPOINT("ps.stop_job").IgnoreError();
  {
    MutexLock lock(&mutex_);
    if (loading_ != nullptr && loading_->command.plan().job_id() == command.job_id()) {
      loading_->replaced = true;
      loading_ = nullptr;
    }
  }
  if (CurrentJobId() == command.job_id()) {
    parts_.store->Drop(absl::AbortedError(absl::StrCat("job ", command.job_id(), " has ended")));
    parts_.pool->Trim();
    CAIRN_LOG_INFO("job stopped", "job", command.job_id());
  }
  CAIRN_FAILPOINT("ps.job_stopped").IgnoreError();
  if (!command.delete_data()) return;
  const auto delete_snapshots = [this, job_id = command.job_id()] {
    const absl::Status deleted = parts_.snapshots->DeleteJob(job_id);
    parts_.uploads->Forget(job_id);
    CAIRN_FAILPOINT("ps.job_deleted").IgnoreError();
    if (deleted.ok()) return;
    CAIRN_LOG_WARNING("cannot delete a job's data", "job", job_id, "error", deleted);
  };
  parts_.uploads->Expect(command.job_id(), 0);
  files_->TrySubmit(delete_snapshots);
  // Repeat after pending writes and copies finish. If the queues are full, files of the job may
  // remain.
  snapshots_->TrySubmit(delete_snapshots);
  copies_->TrySubmit(delete_snapshots);
}

// Ends an older generation, so that what this ps offers can no longer change.
void JobControl::OfferReplicas(const proto::OfferReplicas& command) {
  CAIRN_FAILPOINT("ps.offer_replicas").IgnoreError();
  const uint64_t job_id = command.job_id();
  {
    // A load of an older generation must not be installed.
    MutexLock lock(&mutex_);
    if (loading_ != nullptr && loading_->command.generation() < command.generation()) {
      loading_->replaced = true;
      loading_ = nullptr;
    }
  }
  const std::shared_ptr<JobBlocks> current = parts_.store->current();
  if (current != nullptr && current->layout()->job_id() == job_id &&
      current->generation() < command.generation()) {
    CancelWrites();
    parts_.store->EndGeneration(absl::AbortedError(
        absl::StrCat("job ", job_id, " begins its generation ", command.generation())));
  }
  proto::TaskMessage message;
  proto::ReplicaOffer& offer = *message.mutable_replica_offer();
  offer.set_job_id(job_id);
  offer.set_generation(command.generation());
  const std::shared_ptr<const ReplicaSet> kept = parts_.store->replicas();
  if (kept != nullptr && kept->job_id() == job_id) {
    const VersionRange versions = kept->versions();
    offer.set_complete(versions.lowest <= versions.newest);
    offer.set_from_generation(kept->generation());
    offer.set_lowest(versions.lowest);
    offer.set_newest(versions.newest);
  }
  CAIRN_LOG_INFO("offers what is in memory", "job", job_id, "generation", command.generation(),
                 "complete", offer.complete(), "from_generation", offer.from_generation(), "lowest",
                 offer.lowest(), "newest", offer.newest());
  send_(std::move(message));
}

void JobControl::QueryLedgers(const proto::LedgerQuery& command) {
  proto::TaskMessage message;
  proto::LedgerReply& reply = *message.mutable_ledger();
  // Replies for whatever job is in memory; the coordinator compares job and generation.
  reply = parts_.store->Ledgers();
  reply.set_query(command.query());
  CAIRN_FAILPOINT("ps.ledgers_queried").IgnoreError();
  send_(std::move(message));
}

void JobControl::MakeCut(const proto::Cut& command) {
  const absl::StatusOr<std::shared_ptr<const Cut>> cut =
      parts_.store->MakeCut(command.job_id(), command.generation(), command.cut());
  CAIRN_FAILPOINT("ps.cut_made").IgnoreError();
  proto::TaskMessage message;
  proto::CutReply& reply = *message.mutable_cut();
  reply.set_job_id(command.job_id());
  reply.set_cut(command.cut());
  reply.set_generation(command.generation());
  if (cut.ok()) {
    *reply.mutable_ledger() = (*cut)->ledger;
  } else {
    reply.set_error(std::string(cut.status().message()));
  }
  send_(std::move(message));
}

void JobControl::Persist(const proto::Persist& command) {
  if (absl::Status hit = CAIRN_FAILPOINT("ps.persist"); !hit.ok()) {
    return SendPersistError(command, hit);
  }
  absl::StatusOr<std::shared_ptr<const Cut>> cut =
      parts_.store->FindCut(command.job_id(), command.generation(), command.cut());
  if (!cut.ok()) return SendPersistError(command, cut.status());
  if (absl::Status begun = BeginWriting(command); !begun.ok()) {
    if (!absl::IsAlreadyExists(begun)) SendPersistError(command, begun);
    return;
  }
  // The snapshot is written even if the cut is dropped meanwhile. When the generation ends, its
  // memory is needed.
  {
    MutexLock lock(&mutex_);
    ++writes_pending_;
  }
  const auto write_ended = [this] {
    MutexLock lock(&mutex_);
    --writes_pending_;
    write_ended_.NotifyAll();
  };
  if (!snapshots_->TrySubmit(
          [this, cut = *std::move(cut), cancelled = writes_cancelled_, write_ended]() mutable {
            WriteCut(*cut, *cancelled);
            cut.reset();
            write_ended();
          })) {
    write_ended();
    {
      MutexLock lock(&mutex_);
      writing_.reset();  // Otherwise this cut would count as being written for ever.
    }
    SendPersistError(command, absl::ResourceExhaustedError(absl::StrCat(
                                  "ps ", parts_.ps, " has too many snapshots to write already")));
  }
}

// AlreadyExists: this cut is being written, and the reply will follow.
absl::Status JobControl::BeginWriting(const proto::Persist& command) {
  const absl::Time now = absl::Now();
  MutexLock lock(&mutex_);
  if (writing_.has_value()) {
    if (writing_->job_id == command.job_id() && writing_->generation == command.generation() &&
        writing_->cut == command.cut()) {
      return absl::AlreadyExistsError("it is being written");
    }
    if (now - writing_->since > kWriteMayTake) {
      return absl::ResourceExhaustedError(
          absl::StrCat("ps ", parts_.ps, " has been writing checkpoint ", writing_->cut, " for ",
                       absl::ToInt64Seconds(now - writing_->since), " s; its disk may hang"));
    }
  }
  writing_ = {command.job_id(), command.generation(), command.cut(), now};
  return absl::OkStatus();
}

void JobControl::WriteCut(const Cut& cut, const std::atomic<bool>& cancelled) {
  const absl::StatusOr<storage::SnapshotSummary> written =
      OrExhausted([&] { return WriteSnapshot(cut, cancelled, parts_.snapshots); });
  {
    MutexLock lock(&mutex_);
    if (writing_.has_value() && writing_->cut == cut.id) writing_.reset();
  }
  CAIRN_FAILPOINT("ps.persisted").IgnoreError();
  proto::TaskMessage message;
  proto::PersistReply& reply = *message.mutable_persisted();
  reply.set_job_id(cut.layout->job_id());
  reply.set_cut(cut.id);
  reply.set_generation(cut.generation);
  if (written.ok()) {
    reply.mutable_part()->set_ps(parts_.ps);
    reply.mutable_part()->set_blocks(written->blocks);
    reply.mutable_part()->set_bytes(written->bytes);
    reply.mutable_part()->set_checksum(written->checksum);
  } else {
    CAIRN_LOG_ERROR("snapshot failed", "job", cut.layout->job_id(), "checkpoint", cut.id, "error",
                    written.status());
    reply.set_error(std::string(written.status().message()));
  }
  send_(std::move(message));
}

void JobControl::SendPersistError(const proto::Persist& command, const absl::Status& status) {
  proto::TaskMessage message;
  proto::PersistReply& reply = *message.mutable_persisted();
  reply.set_job_id(command.job_id());
  reply.set_cut(command.cut());
  reply.set_generation(command.generation());
  reply.set_error(std::string(status.message()));
  send_(std::move(message));
}

void JobControl::DeleteCheckpoint(const proto::DeleteCheckpoint& command) {
  // After the snapshots that are being written, one of which may belong to a checkpoint that the
  // coordinator has given up. What is left if the queue is full is deleted after the next list.
  snapshots_->TrySubmit([this, job_id = command.job_id(), checkpoint = command.checkpoint()] {
    CAIRN_FAILPOINT("ps.delete_checkpoint").IgnoreError();
    const absl::Status deleted = parts_.snapshots->DeleteCheckpoint(job_id, checkpoint);
    CAIRN_FAILPOINT("ps.checkpoint_deleted").IgnoreError();
    if (deleted.ok()) return;
    CAIRN_LOG_WARNING("cannot delete a checkpoint", "job", job_id, "checkpoint", checkpoint,
                      "error", deleted);
  });
}

void JobControl::SetRates(const proto::SetRates& command) {
  CAIRN_FAILPOINT("ps.set_rates").IgnoreError();
  const auto job = parts_.store->Find(command.job_id(), command.generation());
  // No reply is needed: the next Join tells the coordinator which job and generation this ps has.
  if (!job.ok()) return;
  auto rates = std::make_shared<const storage::RateChanges>(command.rates());
  proto::TaskMessage message;
  proto::RatesReply& reply = *message.mutable_rates_set();
  reply.set_job_id(command.job_id());
  reply.set_generation(command.generation());
  reply.set_changes(rates->count());
  const auto replicas = parts_.store->FindReplicas(command.job_id(), command.generation());
  if (replicas.ok()) (*replicas)->SetRates(rates);
  (*job)->SetRates(std::move(rates));
  CAIRN_FAILPOINT("ps.rates_set").IgnoreError();
  send_(std::move(message));
}

void JobControl::Profile(const proto::Profile& command) {
  CAIRN_FAILPOINT("ps.profile").IgnoreError();
  ServiceProfile* const profile = parts_.job_options.block.profile;
  if (profile == nullptr) return;
  if (command.steps() > 0) return profile->Start(command.profile());
  proto::TaskMessage message;
  *message.mutable_profiled() = profile->Stop(command.profile());
  send_(std::move(message));
}

void JobControl::ListSnapshots(const proto::ListSnapshots& command) {
  // On the thread of the deletions, so that a list shows the effect of an earlier StopJob. If the
  // queue is full, the disk hangs; the coordinator asks again.
  files_->TrySubmit([this, job_id = command.job_id()] {
    proto::TaskMessage message;
    *message.mutable_snapshots() = parts_.catalog->List(job_id);
    CAIRN_FAILPOINT("ps.snapshots_listed").IgnoreError();
    send_(std::move(message));
  });
}

void JobControl::CopySnapshot(const proto::CopySnapshot& command) {
  if (absl::Status hit = CAIRN_FAILPOINT("ps.copy_snapshot"); !hit.ok()) {
    return SendCopyReply(command, hit);
  }
  const absl::StatusOr<std::shared_ptr<JobBlocks>> job =
      parts_.store->Find(command.job_id(), command.generation());
  if (!job.ok()) return SendCopyReply(command, job.status());
  std::vector<uint32_t> blocks =
      cluster::BlocksOfPs((*job)->layout()->plan().partition(), command.part().ps());
  const bool queued = copies_->TrySubmit([this, command, blocks = std::move(blocks)] {
    const SnapshotFetcher::Source source{command.part().ps(), command.job_id(),
                                         command.checkpoint(), command.part()};
    SendCopyReply(command, OrExhausted([&] { return copier_.Copy(source, blocks); }));
  });
  if (queued) return;
  SendCopyReply(command, absl::ResourceExhaustedError(absl::StrCat(
                             "ps ", parts_.ps, " has too many copies to make already")));
}

void JobControl::SendCopyReply(const proto::CopySnapshot& command, const absl::Status& status) {
  CAIRN_FAILPOINT("ps.snapshot_copied").IgnoreError();
  proto::TaskMessage message;
  proto::CopyReply& reply = *message.mutable_copied();
  reply.set_job_id(command.job_id());
  reply.set_checkpoint(command.checkpoint());
  reply.set_part(command.part().ps());
  if (!status.ok()) {
    CAIRN_LOG_ERROR("a copy of a snapshot failed", "job", command.job_id(), "checkpoint",
                    command.checkpoint(), "of ps", command.part().ps(), "error", status);
    reply.set_error(std::string(status.message()));
  }
  send_(std::move(message));
}

}  // namespace cairn::parameters
