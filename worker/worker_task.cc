#include "worker/worker_task.h"

#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/tf_config.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "worker/job_inspection.h"

namespace cairn::worker {
namespace {

// How often the sender checks whether a report is due.
constexpr std::chrono::milliseconds kSendInterval(10);
// After a longer pause a worker pulls values before its next step: the ones it has are stale.
constexpr absl::Duration kIdle = absl::Milliseconds(50);
// The results of one batch of an inference are one message. Heartbeats wait behind it, so it must
// be sent before the lease is over: 32 MiB need 27 Mbit/s for the default of 10 s.
constexpr int64_t kInferredBytesMax = int64_t{32} << 20;

// Whether the error ends only this generation, not the job: the job was rolled back or stopped, or
// its requests were cancelled.
bool IsOver(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsAborted(status) || absl::IsCancelled(status);
}

}  // namespace

WorkerTask::WorkerTask(const WorkerTaskOptions& options, nn::Device* device, OnRejected on_rejected)
    : options_(options),
      device_(device),
      device_text_(absl::StrCat(options.device_name.empty() ? device->name() : options.device_name,
                                ", ", Plural(options.threads.most(), "thread"))),
      on_rejected_(std::move(on_rejected)),
      index_(options.index) {
  cluster_.own_ps = options.own_ps;
  cluster::SessionOptions session;
  session.address = options.coordinator;
  session.make_join = [this] { return MakeJoin(); };
  session.fill_heartbeat = [this](proto::Heartbeat* heartbeat) {
    *heartbeat->mutable_activity() = ReportActivity();
  };
  session_ = std::make_unique<cluster::TaskSession>(std::move(session), this);
  trainer_ = std::thread([this] { Train(); });
  sender_ = std::thread([this] { Send(); });
}

WorkerTask::~WorkerTask() { Stop(absl::ZeroDuration()); }

// The order matters: the trainer makes the last results, the sender sends them, and the session
// carries them.
void WorkerTask::Stop(absl::Duration grace) {
  {
    MutexLock lock(&mutex_);
    state_.Stop();
    grace_ = grace;
    work_changed_.NotifyAll();
  }
  // The trainer may be waiting for a ps: it must ask should_abandon now.
  WakeRunner();
  if (trainer_.joinable()) trainer_.join();
  {
    MutexLock lock(&mutex_);
    sender_stops_ = true;
    send_soon_.NotifyAll();
  }
  if (sender_.joinable()) sender_.join();
  session_->Stop();
}

// ---------------------------------------------------------------- the session's threads

proto::Join WorkerTask::MakeJoin() {
  proto::Join join;
  join.set_role(options_.role);
  join.set_device(device_text_);
  for (const std::string& address : options_.ps_addresses) join.add_ps_addresses(address);
  for (const std::string& device : options_.devices) join.add_devices(device);
  MutexLock lock(&mutex_);
  join.set_index(index_);
  join.set_any_index(options_.index < 0);
  join.set_cluster_id(cluster_.cluster_id);
  state_.FillJoin(&join);
  return join;
}

void WorkerTask::OnWelcome(const proto::Welcome& welcome) {
  // The session has logged that the worker joined.
  if (welcome.keep_leases()) CAIRN_LOG_INFO("the batches on hand may be finished");
  MutexLock lock(&mutex_);
  const uint64_t old_cluster = std::exchange(cluster_.cluster_id, welcome.cluster_id());
  index_ = welcome.index();
  cluster_.task = cluster::TaskName(options_.role, welcome.index());
  cluster_.ps_addresses.assign(welcome.ps_addresses().begin(), welcome.ps_addresses().end());
  if (old_cluster != 0 && old_cluster != welcome.cluster_id()) state_.LeaveCluster();
  state_.OnWelcome(welcome.keep_leases(), clock_.Now());
  connected_ = true;
  send_soon_.NotifyAll();
}

void WorkerTask::OnCommand(const proto::Command& command) {
  std::vector<int64_t> granted;
  {
    MutexLock lock(&mutex_);
    if (command.has_ps_addresses()) {
      const auto& addresses = command.ps_addresses().addresses();
      cluster_.ps_addresses.assign(addresses.begin(), addresses.end());
      return;
    }
    state_.OnCommand(command);
    if (command.has_grant()) granted = state_.UpcomingBatches();
    work_changed_.NotifyAll();
    send_soon_.NotifyAll();
  }
  WakeRunner();
  // Leases of long steps arrive during a step: their data are read now, not in the next step.
  MutexLock lock(&runner_mutex_);
  if (runner_ != nullptr && !granted.empty()) runner_->ExpectBatches(granted);
}

void WorkerTask::OnDisconnected(const absl::Status& why) {
  CAIRN_LOG_WARNING("lost the coordinator", "why", why);
  MutexLock lock(&mutex_);
  connected_ = false;
  state_.OnDisconnected();
}

void WorkerTask::OnRefused(const proto::Refused& refused) {
  CAIRN_LOG_WARNING("refused by the coordinator", "reason", refused.reason(), "permanent",
                    refused.permanent());
  if (refused.permanent()) on_rejected_(refused.reason());
}

void WorkerTask::WakeRunner() {
  MutexLock lock(&runner_mutex_);
  if (runner_ != nullptr) runner_->Wake();
}

proto::Activity WorkerTask::ReportActivity() {
  proto::Activity report = activity_.Report();
  MutexLock lock(&runner_mutex_);
  if (runner_ == nullptr) return report;
  if (const auto silence = runner_->LongestSilence()) {
    report.set_milliseconds_of_silence(absl::ToInt64Milliseconds(silence->duration));
    report.set_silent_ps(static_cast<uint32_t>(silence->ps));
  }
  return report;
}

// ---------------------------------------------------------------- the sender's thread

void WorkerTask::Send() {
  while (true) {
    std::vector<proto::TaskMessage> messages;
    bool last = false;
    {
      MutexLock lock(&mutex_);
      last = sender_stops_;
      // While disconnected, messages stay in the state: the next stream may make them obsolete.
      if (connected_) messages = state_.TakeMessages(clock_.Now());
      if (messages.empty() && !last) send_soon_.WaitFor(&mutex_, kSendInterval);
    }
    for (const proto::TaskMessage& message : messages) {
      if (CAIRN_FAILPOINT("worker.report").ok() && session_->Send(message)) continue;
      MutexLock lock(&mutex_);
      state_.NotSent(message);
      if (!last) send_soon_.WaitFor(&mutex_, kSendInterval);
    }
    if (last) return;
  }
}

// ---------------------------------------------------------------- the trainer's thread

void WorkerTask::Train() {
  while (const std::optional<WorkItem> item = WaitForItem()) {
    try {
      Run(*item);
    } catch (const std::bad_alloc&) {
      RunFailed(absl::ResourceExhaustedError("this worker has not enough memory for the job"));
    } catch (const std::system_error& error) {
      RunFailed(absl::ResourceExhaustedError(
          absl::StrCat("this worker cannot start a thread for the job: ", error.what())));
    }
  }
  // DropJob cancels what is not acknowledged, so the batches in flight get their grace first.
  WaitForApplied();
  DropJob();
}

std::optional<WorkItem> WorkerTask::WaitForItem() {
  activity_.Enter(proto::Activity::IDLE);
  MutexLock lock(&mutex_);
  while (true) {
    if (state_.stopping()) return std::nullopt;
    if (std::optional<WorkItem> item = state_.NextItem()) return item;
    work_changed_.Wait(&mutex_);
  }
}

void WorkerTask::Run(const WorkItem& item) {
  switch (item.kind) {
    case WorkItem::Kind::kInspect: {
      activity_.Enter(proto::Activity::INSPECTING);
      const proto::InspectReply reply = InspectJob(*item.inspect, options_.storage);
      CAIRN_LOG_INFO("inspected the data", "job", reply.job_id(), "examples", reply.examples(),
                     "validation examples", reply.validation_examples(), "error", reply.error());
      MutexLock lock(&mutex_);
      state_.Inspected(reply);
      send_soon_.NotifyAll();
      return;
    }
    case WorkItem::Kind::kProfile:
      return RunProfile(*item.profile);
    case WorkItem::Kind::kStartJob:
      return RunStartJob(*item.job);
    case WorkItem::Kind::kDropJob:
      CAIRN_LOG_INFO("job ended", "job", key_.job_id);
      if (options_.max_evaluations > 0 && evaluations_ > 0) options_.on_done("its job has ended");
      return DropJob();
    case WorkItem::Kind::kTrain:
      return RunTraining(item);
    case WorkItem::Kind::kEvaluate:
      return RunEvaluation(item);
    case WorkItem::Kind::kStartInference:
    case WorkItem::Kind::kDropInference:
    case WorkItem::Kind::kInfer:
      return RunInference(item);
  }
}

void WorkerTask::RunStartJob(const proto::StartJob& job) {
  key_ = {job.plan().job_id(), job.generation()};
  CAIRN_LOG_INFO("starting job", "job", key_.job_id, "name", job.plan().job().name(), "generation",
                 key_.generation);
  activity_.Enter(proto::Activity::LOADING);
  const absl::Status status = StartJob(job);
  if (!status.ok()) return RunFailed(status);
  MutexLock lock(&mutex_);
  state_.Ready(key_);
  send_soon_.NotifyAll();
}

absl::Status WorkerTask::StartJob(const proto::StartJob& job) {
  if (runner_ == nullptr || runner_->job_id() != key_.job_id) {
    // Drops the old job first: memory may not hold both.
    DropJob();
    JobRunner::Options options;
    options.threads = options_.threads.Of(job.plan());
    options.trains = options_.role != proto::EVALUATOR;
    options.storage = options_.storage;
    options.gradient_memory = options_.gradient_memory;
    options.activity = &activity_;
    CAIRN_ASSIGN_OR_RETURN(auto runner, JobRunner::Create(job, options, device_));
    MutexLock lock(&runner_mutex_);
    runner_ = std::move(runner);
  }
  ClusterInfo cluster;
  {
    MutexLock lock(&mutex_);
    cluster = cluster_;
  }
  // Runs on a thread of the strategy, possibly after the trainer has gone to another generation:
  // it carries the key of its own.
  const auto on_applied = [this, key = key_](const proto::BatchRecord& record) {
    MutexLock lock(&mutex_);
    state_.Applied(key, record);
    if (state_.SendSoon()) send_soon_.NotifyAll();
    if (state_.stopping()) work_changed_.NotifyAll();
  };
  return runner_->StartGeneration(job, cluster, on_applied);
}

void WorkerTask::DropJob() {
  // Destroyed without the lock: the destructor waits for callbacks, and WakeRunner must not block
  // the session's thread meanwhile.
  std::unique_ptr<JobRunner> runner;
  {
    MutexLock lock(&runner_mutex_);
    runner.swap(runner_);
  }
}

void WorkerTask::RunFailed(const absl::Status& status) {
  CAIRN_LOG_ERROR("the job cannot go on here", "job", key_.job_id, "why", status);
  DropJob();
  // The first call may return an error of earlier work, which the device survives.
  bool is_lost = false;
  if (!device_->Synchronize().ok()) {
    const absl::Status lost = device_->Synchronize();
    is_lost = !lost.ok();
    if (is_lost) {
      options_.on_device_lost(absl::StrCat("the device is lost: ", std::string(lost.message())));
    }
  }
  MutexLock lock(&mutex_);
  state_.Failed(key_, std::string(status.message()), is_lost || absl::IsUnavailable(status));
  send_soon_.NotifyAll();
}

void WorkerTask::RunProfile(const proto::Profile& profile) {
  if (profile.steps() <= 0) return SendProfile(/*now=*/true);
  if (runner_ != nullptr && runner_->job_id() == profile.job_id()) runner_->StartProfile(profile);
}

void WorkerTask::SendProfile(bool now) {
  const auto report =
      runner_ != nullptr ? runner_->TakeProfile(now) : std::optional<proto::ProfileReport>();
  if (!report.has_value()) return;
  MutexLock lock(&mutex_);
  state_.Profiled(*report);
  send_soon_.NotifyAll();
}

void WorkerTask::RunTraining(const WorkItem& item) {
  Trainer::Assignment assignment;
  assignment.batch = item.batch;
  assignment.next = item.next;
  assignment.later = item.later;
  assignment.after_idle = clock_.Now() - last_step_end_ > kIdle;
  const auto result = runner_->Train(assignment, [this, &item] {
    MutexLock lock(&mutex_);
    return !state_.ShouldKeepWaiting(key_, item.batch);
  });
  last_step_end_ = clock_.Now();
  SendProfile(/*now=*/false);
  if (!result.ok() && !IsOver(result.status())) return RunFailed(result.status());
  MutexLock lock(&mutex_);
  state_.StepEnded();
  if (!result.ok()) {
    CAIRN_LOG_WARNING("this generation is over", "generation", key_.generation, "why",
                      result.status());
    state_.GenerationIsOver(key_);
  } else if (*result == Strategy::StepStatus::kAbandoned) {
    state_.ReturnBatch(key_, item.batch);
  } else if (*result == Strategy::StepStatus::kApplied) {
    state_.AppliedByOthers(key_, item.batch);
  }
}

bool WorkerTask::CountEvaluation(uint64_t cut) {
  if (std::exchange(evaluated_cut_, cut) != cut) ++evaluations_;
  if (options_.max_evaluations == 0 || evaluations_ <= options_.max_evaluations) return true;
  options_.on_done(absl::StrCat("it has made ", Plural(options_.max_evaluations, "evaluation")));
  return false;
}

void WorkerTask::RunEvaluation(const WorkItem& item) {
  if (!CountEvaluation(item.cut)) {
    MutexLock lock(&mutex_);
    return state_.EvaluationLost(key_, item.cut);
  }
  const auto result = runner_->Evaluate(item.cut, item.batch, item.next, [this] {
    MutexLock lock(&mutex_);
    return state_.stopping() || !state_.IsCurrent(key_);
  });
  const bool lost = !result.ok() && (IsOver(result.status()) || absl::IsNotFound(result.status()));
  if (!result.ok() && !lost) return RunFailed(result.status());
  MutexLock lock(&mutex_);
  if (result.ok()) {
    state_.Evaluated(key_, *result);
  } else {
    CAIRN_LOG_WARNING("evaluation given up", "cut", item.cut, "why", result.status());
    state_.EvaluationLost(key_, item.cut);
  }
}

// An inference fails by itself: the job goes on.
void WorkerTask::RunInference(const WorkItem& item) {
  if (item.kind != WorkItem::Kind::kInfer) inference_ = nullptr;
  if (item.kind == WorkItem::Kind::kDropInference) return;
  proto::InferenceReport report;
  report.set_inference(item.inference->inference());
  absl::Status status;
  try {
    status = item.kind == WorkItem::Kind::kInfer
                 ? Infer(item, &report)
                 : StartInference(item.inference->request(), &report);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("this worker has not enough memory");
  } catch (const std::system_error& error) {
    status = absl::ResourceExhaustedError(
        absl::StrCat("this worker cannot start a thread: ", error.what()));
  }
  if (!status.ok()) {
    CAIRN_LOG_ERROR("an inference cannot go on here", "inference", report.inference(), "why",
                    status);
    inference_ = nullptr;
    report.set_error(std::string(status.message()));
    report.set_transient(absl::IsUnavailable(status));
  }
  MutexLock lock(&mutex_);
  state_.Inferred(std::move(report));
  send_soon_.NotifyAll();
}

absl::Status WorkerTask::StartInference(const proto::InferenceRequest& request,
                                        proto::InferenceReport* report) {
  CAIRN_LOG_INFO("starting inference", "inference", report->inference(), "job",
                 request.plan().job_id(), "checkpoint", request.checkpoint().checkpoint());
  activity_.Enter(proto::Activity::LOADING);
  Inference::Options options;
  options.outputs = request.outputs();
  options.threads = options_.threads.most();
  options.storage = options_.storage;
  options.data_name = request.data_name();
  options.activity = &activity_;
  CAIRN_ASSIGN_OR_RETURN(inference_, Inference::Create(request.plan(), options, device_));
  const bool needs_labels = !request.outputs() && !inference_->objective().losses().empty();
  CAIRN_ASSIGN_OR_RETURN(const std::vector<proto::DataFiles> files,
                         FingerprintValidation(request.plan(), inference_->model(), needs_labels));
  const int64_t bytes = inference_->batch_bytes();
  if (bytes > kInferredBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the outputs of ", Plural(inference_->batch_size(), "example"), " have ",
                     bytes, " bytes, and at most ", kInferredBytesMax,
                     " can be sent; compute them without --on cluster"));
  }
  ClusterInfo cluster;
  {
    MutexLock lock(&mutex_);
    cluster = cluster_;
  }
  // A ps that does not answer is an error of the download, so a long one is no hang.
  activity_.Enter(proto::Activity::WAITING);
  CAIRN_RETURN_IF_ERROR(LoadCheckpoint(request, cluster, inference_.get()));
  report->mutable_ready()->set_examples(inference_->examples());
  report->mutable_ready()->set_batch_size(inference_->batch_size());
  report->mutable_ready()->set_batch_bytes(bytes);
  report->mutable_ready()->mutable_files()->Assign(files.begin(), files.end());
  return absl::OkStatus();
}

absl::Status WorkerTask::Infer(const WorkItem& item, proto::InferenceReport* report) {
  // Batches that were leased before it failed.
  if (inference_ == nullptr) return absl::FailedPreconditionError("the inference has failed here");
  CAIRN_ASSIGN_OR_RETURN(*report->mutable_batch(), inference_->Compute(item.batch, item.next));
  if (!item.inference->request().outputs()) return absl::OkStatus();
  for (size_t i = 0; i < inference_->model().outputs().size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const absl::Span<const float> values,
                           inference_->output(static_cast<int>(i)));
    report->mutable_batch()->add_outputs(values.data(), values.size() * sizeof(float));
  }
  return absl::OkStatus();
}

void WorkerTask::WaitForApplied() {
  MutexLock lock(&mutex_);
  const absl::Duration deadline = clock_.Now() + grace_;
  while (state_.has_pending_batches() && clock_.Now() < deadline) {
    work_changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(deadline - clock_.Now()));
  }
}

}  // namespace cairn::worker
