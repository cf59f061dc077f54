#include "coordinator/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "cluster/tf_config.h"
#include "common/failpoint.h"
#include "common/file_operation.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "coordinator/callbacks/create_callbacks.h"
#include "coordinator/job_difference.h"
#include "coordinator/job_sizes.h"
#include "coordinator/note.h"
#include "job/callback_kinds.h"
#include "job/job_plan.h"
#include "job/strategy.h"
#include "nn/optimizers/rule.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kHeartbeat = absl::Seconds(1);
// A ps may execute a command for that long, however short the progress timeout is: a busy machine
// is slow.
constexpr absl::Duration kCommandMayTake = absl::Seconds(5);
// How long a job rests after a checkpoint for a stop that does not follow.
constexpr absl::Duration kRestAfterStop = absl::Seconds(60);
constexpr int64_t kProfileStepsMax = 10000;
constexpr char kBackupIsBuiltIn[] =
    "backup_and_restore is built in: the job goes on from its newest checkpoint in any case";
// A client that uploads weights says every 20 s that it lives.
constexpr absl::Duration kUploaderIsGone = absl::Minutes(3);

proto::Command RefusedCommand(const std::string& reason) {
  proto::Command command;
  command.mutable_refused()->set_reason(reason);
  return command;
}

// Removes a task's report about a job of another cluster. (A coordinator that lost its journal
// numbers its jobs from 1 again, so job ids alone do not tell them apart.)
proto::Join WithoutForeignJob(proto::Join join, uint64_t cluster_id) {
  if (join.cluster_id() == 0 || join.cluster_id() == cluster_id) return join;
  join.clear_job_id();
  join.clear_generation();
  join.clear_leases();
  join.clear_duplicates_refused();
  return join;
}

// The largest number of ps that the job is known to have been partitioned over: those at its
// acceptance, and those of its last plan.
uint32_t PsCountOf(const Job& job) {
  const uint32_t accepted = job.record().partition().ps_count();
  return job.plan().has_value() ? std::max(accepted, job.plan()->partition().ps_count()) : accepted;
}

MembershipOptions Of(const proto::ClusterRecord& cluster, MembershipOptions options) {
  options.cluster_id = cluster.cluster_id();
  options.term = cluster.term();
  return options;
}

// The files of csv_loggers are on this machine.
absl::Status CheckCsvFiles(const proto::Job& job, absl::Duration patience) {
  CAIRN_ASSIGN_OR_RETURN(const JobCallbacks callbacks, CreateCallbacks(job));
  const TimeLimit limit(patience);
  for (const CsvLogger& log : callbacks.csv_loggers) {
    const absl::Status status = log.CheckFile(limit.left());
    if (status.ok()) continue;
    const std::string text = absl::StrCat(
        "callbacks.filename: the coordinator writes this file of csv_logger, ", status.message());
    // Its disk does not answer now. The coordinator does, so the client need not ask again.
    return absl::IsUnavailable(status) ? absl::FailedPreconditionError(text)
                                       : absl::InvalidArgumentError(text);
  }
  return absl::OkStatus();
}

}  // namespace

Scheduler::Scheduler(Options options, proto::ClusterRecord cluster,
                     const std::vector<proto::DeletedJob>& deleted)
    : journal_(options.journal),
      cluster_(std::move(cluster)),
      members_(Of(cluster_, std::move(options.membership))),
      deletions_(&members_, deleted),
      inferences_(&members_, cluster_.term()) {}

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(Options options, EventTime now,
                                                             Outbox* outbox) {
  CAIRN_ASSIGN_OR_RETURN(proto::ClusterRecord cluster, storage::ReadCluster(*options.journal));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<proto::JobRecord> jobs,
                         storage::ReadJobs(*options.journal));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<proto::DeletedJob> deleted,
                         storage::ReadDeletedJobs(*options.journal));
  if (cluster.cluster_id() == 0) cluster.set_cluster_id(options.new_cluster_id);
  cluster.set_term(cluster.term() + 1);
  // The term is journaled before any task is welcomed with it: tasks refuse a coordinator with a
  // lower term, so two starts must never share one.
  outbox->PutSynced(storage::ClusterKey(), cluster);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.begin_term"); });
  std::unique_ptr<Scheduler> scheduler(
      new Scheduler(std::move(options), std::move(cluster), deleted));
  const Job::Context context = {&scheduler->members_, scheduler->journal_};
  for (const proto::JobRecord& job : jobs) {
    CAIRN_ASSIGN_OR_RETURN(storage::JobRecords records,
                           storage::ReadJob(*scheduler->journal_, job.job_id()));
    CAIRN_RETURN_IF_ERROR(job::CheckJournaledRecords(records.record, records.plan));
    if (records.record.state() == proto::UPLOADING) {
      scheduler->uploading_[job.job_id()] = now.monotonic;
    }
    scheduler->jobs_.Add(std::make_unique<Job>(context, std::move(records)));
  }
  scheduler->Advance(now, outbox);
  return scheduler;
}

// ---------------------------------------------------------------------------------------- tasks

void Scheduler::OnMessage(uint64_t session, const proto::TaskMessage& message, EventTime now,
                          Outbox* outbox) {
  if (message.has_join()) {
    return OnJoin(session, WithoutForeignJob(message.join(), cluster_.cluster_id()), now, outbox);
  }
  const std::optional<TaskId> task = members_.Heard(session, now.monotonic);
  if (!task.has_value()) return;
  meters_.OnMessage(*task, message, now.monotonic);
  if (message.has_heartbeat()) members_.OnHeartbeat(*task, message.heartbeat());
  if (message.has_snapshots() && task->role == proto::PS) {
    deletions_.OnSnapshots(task->index, message.snapshots(), outbox);
  }
  if (message.has_inferred()) inferences_.OnReport(*task, message.inferred(), now.monotonic);
  if (active_ != nullptr) active_->OnMessage(*task, message, now, outbox);
  Advance(now, outbox);
}

void Scheduler::CountRefused(Outbox* outbox) {
  for (const Outbox::Refused& refused : outbox->refused) {
    const uint64_t count = members_.CountRefused(refused.task);
    // Not a line for each of a flood of them.
    if ((count & (count - 1)) != 0) continue;
    CAIRN_LOG_WARNING("refused a part of a message", "task", refused.task.Name(), "refused", count,
                      "what", refused.why);
  }
  outbox->refused.clear();
}

void Scheduler::OnHeard(uint64_t session, EventTime now) { members_.Heard(session, now.monotonic); }

void Scheduler::OnJoin(uint64_t session, const proto::Join& join, EventTime now, Outbox* outbox) {
  const std::vector<std::string> ps_addresses = members_.PsAddresses();
  const Membership::Joined joined = members_.Join(session, join, now.monotonic);
  if (joined.refused.has_value()) {
    CAIRN_LOG_WARNING("refused", "task", cluster::TaskName(join.role(), join.index()), "host",
                      join.host(), "reason", joined.refused->reason());
    proto::Command command;
    *command.mutable_refused() = *joined.refused;
    outbox->answers.push_back({session, std::move(command), /*close=*/true});
    return;
  }
  const TaskId task = joined.task;
  if (!joined.continues) meters_.Forget(task);
  CAIRN_LOG_INFO("joined", "task", task.Name(), "incarnation", joined.incarnation, "pid",
                 join.pid(), "address", join.address());
  // Messages on the old stream may be lost. A worker gives up its leases with that stream; a ps
  // keeps its blocks, so its job goes on.
  if (joined.superseded_session != 0) {
    outbox->answers.push_back(
        {joined.superseded_session, RefusedCommand("this process has a newer stream"), true});
    if (task.role != proto::PS) WorkerGone(task, now, outbox);
  }
  // The welcome says whether the worker keeps its leases, so this is decided before the welcome.
  // The job adopts them below, in the same event.
  const bool keeps_leases = active_ != nullptr && active_->KeepsLeases(join, joined);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.welcome"); });
  Welcome(session, joined, keeps_leases, outbox);
  // Before any command that makes a task connect to the ps.
  SendPsAddresses(ps_addresses, outbox);
  // The job ended or lost its turn while the task was away.
  if (join.job_id() != 0 && (active_ == nullptr || active_->id() != join.job_id())) {
    proto::Command command;
    command.mutable_stop_job()->set_job_id(join.job_id());
    outbox->Send(task, std::move(command));
  }
  if (task.role == proto::PS) {
    deletions_.PsJoined(task.index, outbox);
    for (const auto& [id, called_at] : uploading_) {
      if (const Job* const job = jobs_.Find(id)) ExpectUpload(*job, task.index, outbox);
    }
  }
  if (active_ != nullptr && task.role == proto::PS) {
    active_->PsJoined(task.index, join, joined.continues, outbox);
  } else if (active_ != nullptr) {
    active_->WorkerJoined(task, join, keeps_leases, now, outbox);
  }
  if (task.role != proto::PS) inferences_.WorkerJoined(task, outbox);
  Advance(now, outbox);
}

void Scheduler::Welcome(uint64_t session, const Membership::Joined& joined, bool keeps_leases,
                        Outbox* outbox) {
  proto::Command command;
  proto::Welcome* welcome = command.mutable_welcome();
  welcome->set_term(cluster_.term());
  welcome->set_cluster_id(cluster_.cluster_id());
  welcome->set_incarnation(joined.incarnation);
  welcome->set_index(joined.task.index);
  welcome->set_lease_milliseconds(absl::ToInt64Milliseconds(members_.options().lease));
  const std::vector<std::string> ps = members_.PsAddresses();
  welcome->mutable_ps_addresses()->Assign(ps.begin(), ps.end());
  welcome->set_keep_leases(keeps_leases);
  welcome->set_progress_timeout_milliseconds(
      absl::ToInt64Milliseconds(std::max(members_.options().progress_timeout, kCommandMayTake)));
  outbox->answers.push_back({session, std::move(command), /*close=*/false});
}

void Scheduler::SendPsAddresses(const std::vector<std::string>& before, Outbox* outbox) {
  const std::vector<std::string> now = members_.PsAddresses();
  if (now == before) return;
  proto::Command command;
  command.mutable_ps_addresses()->mutable_addresses()->Assign(now.begin(), now.end());
  for (const auto& [task, member] : members_.members()) {
    if (member.live()) outbox->Send(task, command);
  }
}

void Scheduler::OnSessionEnd(uint64_t session, EventTime now, Outbox* outbox) {
  const std::optional<TaskId> task = members_.StreamEnded(session);
  if (!task.has_value()) return;
  CAIRN_LOG_WARNING("stream broken", "task", task->Name());
  // A ps keeps its blocks in memory while it reconnects, so its job only waits. A worker's leases
  // are given to others at once.
  if (active_ != nullptr && task->role == proto::PS) active_->PsAway(task->index);
  if (task->role != proto::PS) WorkerGone(*task, now, outbox);
  Advance(now, outbox);
}

void Scheduler::OnTick(EventTime now, Outbox* outbox) {
  for (const Membership::Expired& expired : members_.Tick(now.monotonic)) {
    CAIRN_LOG_WARNING("lease over", "task", expired.task.Name());
    // The process is told that its lease is over. It may be alive behind a broken network, and must
    // stop pushing batches that others will get.
    if (expired.session != 0) {
      const std::string reason =
          absl::StrCat("nothing was heard for ", absl::FormatDuration(members_.options().lease),
                       ": the lease is over");
      outbox->answers.push_back({expired.session, RefusedCommand(reason), true});
    }
    if (expired.task.role == proto::PS) {
      if (active_ != nullptr) active_->PsLost(expired.task.index, now, outbox);
    } else if (expired.session != 0) {
      WorkerGone(expired.task, now, outbox);
    }
  }
  // Expired leases come first: what follows then acts on the current members.
  SendHeartbeats(now, outbox);
  ExpireStops(now, outbox);
  ExpireUploads(now, outbox);
  deletions_.Advance(now.monotonic, outbox);
  Advance(now, outbox);
}

uint64_t Scheduler::SessionOf(TaskId task) const {
  const Member* member = members_.Find(task);
  return member == nullptr ? 0 : member->session;
}

void Scheduler::SendHeartbeats(EventTime now, Outbox* outbox) {
  if (now.monotonic - heartbeat_at_ < kHeartbeat) return;
  heartbeat_at_ = now.monotonic;
  proto::Command command;
  command.mutable_heartbeat();
  for (const auto& [task, member] : members_.members()) {
    if (member.live()) outbox->Send(task, command);
  }
}

void Scheduler::WorkerGone(TaskId worker, EventTime now, Outbox* outbox) {
  if (active_ != nullptr) active_->WorkerGone(worker, now, outbox);
  inferences_.WorkerGone(worker);
}

void Scheduler::Advance(EventTime now, Outbox* outbox) {
  AdvanceJobs(now, outbox);
  if (AskForStops(now, outbox)) AdvanceJobs(now, outbox);
  inferences_.Advance(now.monotonic, outbox);
  CountRefused(outbox);
}

// One job trains at a time. A job that ends makes room for the next, which may itself end at once,
// for example if its data cannot be read.
void Scheduler::AdvanceJobs(EventTime now, Outbox* outbox) {
  while (true) {
    if (active_ != nullptr && active_->over()) active_ = nullptr;
    if (active_ == nullptr) active_ = NextJob();
    if (active_ == nullptr) return;
    if (!active_->active()) active_->Activate(now, outbox);
    active_->Advance(now, outbox);
    if (!active_->over()) return;
  }
}

Job* Scheduler::NextJob() {
  Job* next = nullptr;
  for (const auto& [id, job] : jobs_.open()) {
    if (!job->ready()) continue;
    // After a restart, the job that had its turn continues before older queued ones.
    if (job->record().state() == proto::RUNNING) return job;
    if (next == nullptr) next = job;
  }
  return next;
}

// -------------------------------------------------------------------------------------- clients

proto::SubmitReply Scheduler::MakeSubmitReply(Job* job, bool existed, EventTime now) {
  proto::SubmitReply reply;
  reply.set_job_id(job->id());
  reply.set_existed(existed);
  *reply.mutable_status() = StatusOf(job, now);
  *reply.mutable_partition() = job->record().partition();
  reply.set_cluster_id(cluster_.cluster_id());
  for (const std::string& address : members_.PsAddresses()) reply.add_ps_addresses(address);
  return reply;
}

absl::StatusOr<proto::SubmitReply> Scheduler::SubmitAgain(Job* job, const ValidatedJob& again,
                                                          EventTime now) {
  const std::string difference = JobDifference(job->record().job(), job->record().model(),
                                               again.request.job(), again.request.model());
  if (difference.empty()) return MakeSubmitReply(job, true, now);
  return absl::InvalidArgumentError(absl::StrCat(
      "job ", job->id(), " has the name '", again.request.job().name(),
      "' already and is another job: ", difference, "; give the new one another name"));
}

absl::Status Scheduler::CheckPsAreThere(const proto::SubmitRequest& request) const {
  // Ps compute initial values when they join. Uploaded ones have no other place.
  if (!request.uploads_weights()) return absl::OkStatus();
  for (uint32_t ps = 0; ps < members_.options().ps_addresses.size(); ++ps) {
    const Member* const member = members_.Find(PsTask(ps));
    if (member != nullptr && !member->lost) continue;
    return absl::AbortedError(absl::StrCat("ps ", ps,
                                           member == nullptr ? " has not joined yet" : " is away",
                                           ": a part of the job's weights is uploaded to each ps"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::set<uint32_t>> Scheduler::CheckMembersFit(const proto::SubmitRequest& request,
                                                              EventTime now) const {
  const MembershipOptions& options = members_.options();
  std::set<uint32_t> absent;
  if (!options.workers_hold_parameters) {
    CAIRN_RETURN_IF_ERROR(CheckPsAreThere(request));
    return absent;
  }
  // Only a worker itself knows its devices and where its parameters are, so each is awaited; but
  // not for longer than a job that trains awaits one that was lost.
  for (const uint32_t worker : options.named_workers) {
    for (const TaskId task : {WorkerTask(worker), PsTask(worker)}) {
      const bool takes_upload = request.uploads_weights() && task.role == proto::PS;
      const bool has_joined = members_.Find(task) != nullptr;
      if (has_joined && (!takes_upload || members_.IsLive(task))) continue;
      const std::optional<absl::Duration> since = members_.AwaySince(task);
      if (!since.has_value() || now.monotonic - *since < options.rejoin_timeout) {
        return absl::AbortedError(absl::StrCat(
            "worker ", worker, has_joined ? " is away" : " has not joined yet",
            ": it is awaited for ", absl::FormatDuration(options.rejoin_timeout),
            " (coordinator --rejoin_timeout), then the job begins without it, if another worker is "
            "there"));
      }
      absent.insert(worker);
    }
  }
  if (absent.size() == options.named_workers.size()) {
    return absl::AbortedError("no worker that holds parameters is there yet");
  }
  if (job::IsOfOneWorker(request.job().strategy())) {
    CAIRN_RETURN_IF_ERROR(
        job::CheckDevicesFit(request.job().strategy(), members_.Find(WorkerTask(0))->devices));
  }
  return absent;
}

int64_t Scheduler::DefaultBatchesPerUpdate() const {
  const int64_t count =
      members_.options().workers_hold_parameters ? members_.DeviceCount() : members_.WorkerCount();
  return std::clamp<int64_t>(count, 1, job::kBatchesPerUpdateMax);
}

absl::StatusOr<proto::SubmitReply> Scheduler::Submit(const ValidatedJob& job, EventTime now,
                                                     Outbox* outbox) {
  const proto::SubmitRequest& request = job.request;
  if (Job* known = request.reuse() ? jobs_.NewestOfName(request.job().name()) : nullptr) {
    return SubmitAgain(known, job, now);
  }
  CAIRN_ASSIGN_OR_RETURN(const std::set<uint32_t> absent, CheckMembersFit(request, now));
  std::vector<PsSize> sizes = job.sizes;
  if (members_.options().workers_hold_parameters && sizes.size() > 1 &&
      job::KeepsReplicas(request.job().strategy())) {
    AddReplicas(&sizes);
  }
  const SizeVerdict verdict = CheckSizes(sizes, request.job(), members_);
  CAIRN_RETURN_IF_ERROR(verdict.refused);
  // Last, because it makes the files: a job that is refused leaves none.
  CAIRN_RETURN_IF_ERROR(
      CheckCsvFiles(request.job(), CsvLogger::PatienceFor(members_.options().progress_timeout)));
  cluster_.set_last_job_id(cluster_.last_job_id() + 1);
  // The counter and the job are one synced write: an id that a client has seen is never given to
  // another job.
  outbox->PutSynced(storage::ClusterKey(), cluster_);
  storage::JobRecords records;
  proto::JobRecord& record = records.record;
  record.set_job_id(cluster_.last_job_id());
  *record.mutable_job() = request.job();
  *record.mutable_model() = request.model();
  // The weights are uploaded to those that are there, and loaded from them by all.
  *record.mutable_partition() =
      request.uploads_weights() ? cluster::MoveBlocksFrom(absent, job.partition) : job.partition;
  record.set_uploads_weights(request.uploads_weights());
  // Resolved once, at submission: the number of workers may change later, the job's updates may
  // not.
  const int64_t said = job::ResolveNumbers(request.job()).updates.batches_per_update;
  record.set_batches_per_update(said > 0 ? said : DefaultBatchesPerUpdate());
  record.set_parameters(job.parameters);
  record.set_submitted_unix_seconds(now.unix_seconds);
  record.set_state(request.uploads_weights() ? proto::UPLOADING : proto::QUEUED);
  outbox->PutSynced(storage::JobKey(record.job_id()), record);
  if (!verdict.warning.empty()) {
    AddNote(record.job_id(), absl::StrCat("WARNING: ", verdict.warning), now, &records.run);
  }
  for (const proto::Callback& callback : record.job().callbacks()) {
    if (!job::IsCallback(callback.name(), "backup_and_restore")) continue;
    AddNote(record.job_id(), kBackupIsBuiltIn, now, &records.run);
  }
  if (!records.run.notes().empty()) {
    outbox->PutSynced(storage::RunKey(record.job_id()), records.run);
  }
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.accept_job"); });
  CAIRN_LOG_INFO("job accepted", "job", record.job_id(), "name", record.job().name());
  if (request.uploads_weights()) uploading_[record.job_id()] = now.monotonic;
  Job* const added =
      jobs_.Add(std::make_unique<Job>(Job::Context{&members_, journal_}, std::move(records)));
  ExpectUploads(*added, outbox);
  Advance(now, outbox);
  return MakeSubmitReply(added, false, now);
}

void Scheduler::ExpectUpload(const Job& job, uint32_t ps, Outbox* outbox) const {
  const proto::JobRecord& record = job.record();
  // Only jobs that began in this cluster; one of another size waits for its ps.
  if (record.state() != proto::UPLOADING || ps >= record.partition().ps_count()) return;
  proto::Command command;
  command.mutable_expect_upload()->set_job_id(job.id());
  uint64_t bytes = 0;
  for (const uint32_t block : cluster::BlocksOfPs(record.partition(), ps)) {
    bytes += static_cast<uint64_t>(cluster::BlockBytes(record.partition(), block));
  }
  // The optimizer's slots are as large as the values.
  if (record.job().resume_from().with_optimizer()) bytes *= 1 + nn::OptimizerRule::kSlotsMax;
  command.mutable_expect_upload()->set_bytes(bytes);
  outbox->Send(PsTask(ps), std::move(command));
}

void Scheduler::ExpectUploads(const Job& job, Outbox* outbox) const {
  for (uint32_t ps = 0; ps < members_.options().ps_addresses.size(); ++ps) {
    ExpectUpload(job, ps, outbox);
  }
}

void Scheduler::ExpectNoUploads(const Job& job, Outbox* outbox) const {
  proto::Command command;
  command.mutable_expect_upload()->set_job_id(job.id());
  outbox->SendToAllPs(static_cast<uint32_t>(members_.options().ps_addresses.size()), command);
}

void Scheduler::DropUploads(const Job& job, Outbox* outbox) const {
  proto::Command command;
  command.mutable_stop_job()->set_job_id(job.id());
  command.mutable_stop_job()->set_delete_data(true);
  outbox->SendToAllPs(static_cast<uint32_t>(members_.options().ps_addresses.size()), command);
}

// A coordinator that died while a client submitted the job may have journaled it, and the client
// has submitted it again.
void Scheduler::ExpireUploads(EventTime now, Outbox* outbox) {
  std::erase_if(uploading_, [this](const auto& entry) {
    const Job* const job = jobs_.Find(entry.first);
    return job == nullptr || job->record().state() != proto::UPLOADING;
  });
  for (const auto& [id, called_at] : uploading_) {
    if (now.monotonic - called_at <= kUploaderIsGone) continue;
    Job* const job = jobs_.Find(id);
    job->FailUpload(absl::StrCat("its weights were not uploaded: nothing was heard of the client "
                                 "for ",
                                 absl::FormatDuration(kUploaderIsGone)),
                    now, outbox);
    DropUploads(*job, outbox);
  }
}

absl::StatusOr<uint64_t> Scheduler::FindJob(const std::string& job) const {
  CAIRN_ASSIGN_OR_RETURN(const Job* const found, jobs_.Lookup(job));
  return found->id();
}

absl::StatusOr<proto::JobStatus> Scheduler::CommitWeights(const std::string& reference,
                                                          EventTime now, Outbox* outbox) {
  CAIRN_ASSIGN_OR_RETURN(Job * job, jobs_.Lookup(reference));
  if (!job->record().uploads_weights()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job->id(), " was submitted without weights to follow"));
  }
  if (job->record().state() == proto::UPLOADING) {
    job->CommitWeights(outbox);
    ExpectNoUploads(*job, outbox);
  }
  Advance(now, outbox);
  return StatusOf(job, now);
}

absl::StatusOr<proto::JobStatus> Scheduler::CancelJob(const std::string& reference, EventTime now,
                                                      Outbox* outbox) {
  CAIRN_ASSIGN_OR_RETURN(Job * job, jobs_.Lookup(reference));
  if (job->over()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", job->id(), " is over already: ", storage::StateName(StatusOf(job, now).state())));
  }
  if (job->record().state() == proto::UPLOADING) DropUploads(*job, outbox);
  job->Cancel(now, outbox);
  if (job == active_) active_ = nullptr;
  Advance(now, outbox);
  return StatusOf(job, now);
}

absl::StatusOr<proto::JobStatus> Scheduler::ResumeJob(const std::string& reference, EventTime now,
                                                      Outbox* outbox) {
  CAIRN_ASSIGN_OR_RETURN(Job * job, jobs_.Lookup(reference));
  const proto::JobState state = job->State();
  if (state != proto::FAILED && state != proto::CANCELLED) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job->id(), " is ", storage::StateName(state),
                     ": only a job that has failed or was cancelled can be resumed"));
  }
  if (job->record().lacks_weights()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job->id(), " (", job->record().job().name(),
                     ") ended before its weights were uploaded: submit it again"));
  }
  if (const absl::Status status = job->Reopen(now, outbox); !status.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job->id(), " cannot be resumed: csv_logger: ", status.message()));
  }
  jobs_.Reopened(job);
  Advance(now, outbox);
  return StatusOf(job, now);
}

absl::StatusOr<proto::DeleteJobReply> Scheduler::DeleteJob(const std::string& reference,
                                                           EventTime now, Outbox* outbox) {
  CAIRN_ASSIGN_OR_RETURN(Job * job, jobs_.Lookup(reference));
  CAIRN_RETURN_IF_ERROR(jobs_.CheckUnambiguous(*job, reference));
  proto::DeleteJobReply reply;
  *reply.mutable_status() = StatusOf(job, now);
  if (!job->over()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job->id(), " (", job->record().job().name(), ") has not ended (",
                     storage::StateName(reply.status().state()),
                     "); cancel it first: cairn cancel ", job->id()));
  }
  reply.set_checkpoints(static_cast<int64_t>(job->manifests().size()));
  for (const proto::Manifest& manifest : job->manifests()) {
    for (const proto::SnapshotPart& part : manifest.parts()) {
      reply.set_bytes(reply.bytes() + part.bytes() * (1 + part.copies_size()));
    }
  }
  CAIRN_LOG_INFO("job deleted", "job", job->id(), "name", job->record().job().name());
  // The deletion is journaled before the job is forgotten: after a crash it is finished, and files
  // of ps that are away are deleted later.
  deletions_.Begin(job->id(), job->manifests(), PsCountOf(*job), outbox);
  jobs_.Delete(job->id());
  return reply;
}

proto::JobStatus Scheduler::StatusOf(Job* job, EventTime now) {
  proto::JobStatus status = job->Status(now.monotonic);
  if (!job->ready() || job->active()) return status;
  const Job* next = active_;
  int64_t before = active_ != nullptr ? 1 : 0;
  for (const auto& [id, other] : jobs_.open()) {
    if (id >= job->id()) break;
    if (!other->ready() || other->active()) continue;
    if (next == nullptr) next = other;
    ++before;
  }
  status.set_queue_place(before);
  if (next != nullptr) {
    status.set_waiting_for(
        absl::StrCat("behind ", before > 1 ? absl::StrCat(before, " jobs, first ") : "", "job ",
                     next->id(), " (", next->record().job().name(), ")"));
  }
  return status;
}

absl::StatusOr<proto::JobState> Scheduler::GetState(uint64_t job_id) const {
  if (const Job* const job = jobs_.Find(job_id)) return job->State();
  return absl::NotFoundError(absl::StrCat("there is no job ", job_id));
}

absl::StatusOr<proto::JobStatus> Scheduler::GetJob(const std::string& reference, EventTime now) {
  CAIRN_ASSIGN_OR_RETURN(Job * job, jobs_.Lookup(reference));
  return StatusOf(job, now);
}

void Scheduler::OnUploaderAlive(const std::string& reference, EventTime now) {
  const absl::StatusOr<Job*> job = jobs_.Lookup(reference);
  if (job.ok() && uploading_.contains((*job)->id())) uploading_[(*job)->id()] = now.monotonic;
}

proto::ListJobsReply Scheduler::ListJobs(EventTime now) {
  proto::ListJobsReply reply;
  for (const auto& [id, job] : jobs_.all()) *reply.add_jobs() = StatusOf(job.get(), now);
  return reply;
}

absl::StatusOr<proto::JobPlan> Scheduler::GetPlan(const std::string& reference) const {
  CAIRN_ASSIGN_OR_RETURN(Job * job, jobs_.Lookup(reference));
  if (job->plan().has_value()) return *job->plan();
  return absl::FailedPreconditionError(
      absl::StrCat("job ", job->id(), " has no plan yet: its data were not inspected"));
}

absl::StatusOr<proto::CheckpointList> Scheduler::ListCheckpoints(
    const std::string& reference) const {
  CAIRN_ASSIGN_OR_RETURN(Job * job, jobs_.Lookup(reference));
  proto::CheckpointList list;
  for (const proto::Manifest& manifest : job->manifests()) {
    *list.add_manifests() = manifest;
  }
  return list;
}

proto::ClusterStatus Scheduler::GetCluster(EventTime now) {
  proto::ClusterStatus status = members_.Describe(
      now.monotonic, active_ != nullptr ? active_->Patience() : std::optional<absl::Duration>());
  status.set_cluster_id(cluster_.cluster_id());
  status.set_term(cluster_.term());
  for (proto::Member& member : *status.mutable_members()) {
    // What a process that is gone measured last holds no more.
    if (member.live()) meters_.Fill({member.role(), member.index()}, now.monotonic, &member);
  }
  return status;
}

void Scheduler::TakeCheckpoint(const std::string& reference, CheckpointCallback callback,
                               EventTime now, Outbox* outbox) {
  const absl::StatusOr<Job*> job = jobs_.Lookup(reference);
  if (!job.ok()) {
    outbox->replies.push_back(
        [callback = std::move(callback), status = job.status()]() mutable { callback(status); });
    return;
  }
  (*job)->AskForCheckpoint("asked", std::move(callback), outbox);
  Advance(now, outbox);
}

void Scheduler::Profile(const proto::ProfileRequest& request, ProfileCallback callback,
                        EventTime now, Outbox* outbox) {
  const absl::StatusOr<Job*> job = jobs_.Lookup(request.job());
  if (!job.ok()) {
    outbox->replies.push_back(
        [callback = std::move(callback), status = job.status()]() mutable { callback(status); });
    return;
  }
  ProfileSession::Options options;
  options.steps = std::clamp<int64_t>(request.steps(), 1, kProfileStepsMax);
  options.deadline = now.monotonic + std::clamp(absl::Seconds(request.timeout_seconds()),
                                                absl::Seconds(1), absl::Hours(1));
  (*job)->Profile(options, std::move(callback), outbox);
  Advance(now, outbox);
}

absl::Status Scheduler::Infer(proto::InferenceRequest request, std::shared_ptr<InferenceSink> sink,
                              EventTime now, Outbox* outbox) {
  const absl::Status status = inferences_.Add(std::move(request), std::move(sink));
  Advance(now, outbox);
  return status;
}

void Scheduler::PrepareStop(absl::Duration timeout, StopCallback callback, EventTime now,
                            Outbox* outbox) {
  AdvanceJobs(now, outbox);  // The job whose turn it is may not have begun it.
  auto stop = std::make_shared<PendingStop>();
  stop->callback = std::move(callback);
  stop->deadline = now.monotonic + std::clamp(timeout, absl::ZeroDuration(), absl::Hours(1));
  stops_.push_back(std::move(stop));
  Advance(now, outbox);
}

// Returns whether a job was asked for a checkpoint.
bool Scheduler::AskForStops(EventTime now, Outbox* outbox) {
  bool asked = false;
  for (const auto& stop : stops_) {
    if (stop->asked || stop->callback == nullptr) continue;
    if (active_ != nullptr && active_->trains()) {
      asked = stop->asked = true;
      // The checkpoint or the timeout answers, whichever comes first.
      active_->AskForCheckpoint(
          "stop",
          [stop](absl::StatusOr<proto::Manifest> manifest) {
            if (stop->callback == nullptr) return;
            StopCallback callback = std::exchange(stop->callback, nullptr);
            if (!manifest.ok()) return callback(manifest.status());
            proto::PrepareStopReply reply;
            *reply.mutable_manifest() = *std::move(manifest);
            reply.mutable_manifest()->clear_partition();
            callback(std::move(reply));
          },
          outbox);
    } else if (active_ == nullptr || !active_->MayGoOnTraining()) {
      // There is nothing to save, and nothing may be trained before the daemons end: it would be
      // lost.
      if (active_ != nullptr) active_->DelayTraining();
      stop->asked = true;
      stop->deadline = std::min(stop->deadline, now.monotonic);
      outbox->replies.push_back(
          [stop] { std::exchange(stop->callback, nullptr)(proto::PrepareStopReply()); });
    }
  }
  return asked;
}

void Scheduler::ExpireStops(EventTime now, Outbox* outbox) {
  for (const auto& stop : stops_) {
    if (stop->callback == nullptr || now.monotonic <= stop->deadline) continue;
    const std::string from = active_ == nullptr ? "" : active_->GoesOnFrom();
    outbox->replies.push_back([stop, from] {
      if (stop->callback == nullptr) return;
      std::exchange(stop->callback, nullptr)(
          absl::AbortedError(absl::StrCat("the checkpoint before the stop is not done", from)));
    });
  }
  const bool awaited = std::any_of(stops_.begin(), stops_.end(), [&](const auto& stop) {
    return now.monotonic <= stop->deadline;
  });
  // No client waits any more. A checkpoint that is finished late must not stop the job for good.
  if (!stops_.empty() && !awaited && active_ != nullptr) active_->CancelStop();
  const size_t over = std::erase_if(
      stops_, [&](const auto& stop) { return now.monotonic > stop->deadline + kRestAfterStop; });
  // A later stop may still follow.
  if (over > 0 && stops_.empty() && active_ != nullptr) active_->ContinueAfterStop();
}

}  // namespace cairn::coordinator
