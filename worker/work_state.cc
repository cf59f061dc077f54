#include "worker/work_state.h"

#include <algorithm>
#include <utility>

namespace cairn::worker {
namespace {

constexpr absl::Duration kReportOver = absl::Seconds(2);
// The coordinator leases fewer.
constexpr int64_t kInferenceBatchesMax = 65536;
// How many steps before its batch a file is opened: some may take as long as many steps.
constexpr int64_t kStepsAhead = 64;
// The batches that an item says will follow: no loader assembles more ahead.
constexpr size_t kNextMax = 16;

}  // namespace

// ---------------------------------------------------------------- the coordinator's side

void WorkState::OnWelcome(bool keep_leases, absl::Duration now) {
  if (!keep_leases) ForgetLeases();
  // A message sent on the old stream may have been lost with it.
  failure_sent_ = false;
  reports_.SendAgain(now);
}

void WorkState::OnDisconnected() {
  validation_.clear();
  // The coordinator repeats these requests on the next stream.
  pauses_.clear();
  answers_.clear();
  inspections_.clear();
  profiles_.clear();
  EndInference();
}

void WorkState::OnCommand(const proto::Command& command) {
  switch (command.command_case()) {
    case proto::Command::kStartJob:
      return OnStartJob(command.start_job());
    case proto::Command::kStopJob:
      return OnStopJob(command.stop_job().job_id());
    case proto::Command::kGrant:
      return OnGrant(command.grant());
    case proto::Command::kPause:
      return OnPause(command.pause());
    case proto::Command::kInspect:
      inspections_.push_back(std::make_shared<proto::Inspect>(command.inspect()));
      return;
    case proto::Command::kProfile:
      profiles_.push_back(std::make_shared<proto::Profile>(command.profile()));
      return;
    case proto::Command::kStartInference:
      EndInference();
      inference_ = std::make_shared<proto::StartInference>(command.start_inference());
      inference_changed_ = true;
      return;
    case proto::Command::kGrantInference:
      return OnGrantInference(command.grant_inference());
    case proto::Command::kEndInference:
      if (inference_ && inference_->inference() == command.end_inference().inference()) {
        EndInference();
      }
      return;
    default:
      return;
  }
}

std::vector<int64_t> WorkState::UpcomingBatches() const {
  return ready_ ? leases_.Upcoming(kNextMax) : std::vector<int64_t>();
}

void WorkState::FillJoin(proto::Join* join) const {
  if (!job_) return;
  join->set_job_id(job_->plan().job_id());
  join->set_generation(job_->generation());
  join->set_plan_fingerprint(job_->plan_fingerprint());
  for (const proto::Split& split : leases_.Holding()) *join->add_leases() = split;
}

void WorkState::OnStartJob(const proto::StartJob& start) {
  // The coordinator omits a plan that this worker has. (If it is wrong, it sends the plan after the
  // failure.)
  const bool known = job_ && job_->plan_fingerprint() == start.plan_fingerprint();
  if (!start.has_plan() && !known) return ReportMissingPlan(start);
  const proto::JobPlan& plan = start.has_plan() ? start.plan() : job_->plan();
  if (job_ && job_->plan().job_id() == plan.job_id()) {
    // A coordinator repeats StartJob on every new stream; leases of the same generation stay.
    // Generations only grow, so a lower one is late. The current one begins anew only if a ps
    // refused it, because then the trainer has dropped all of its state.
    const bool again = over_ && start.generation() == job_->generation();
    if (start.generation() <= job_->generation() && !again) return;
  }
  // Leases and results belong to a generation: the ps refuse pushes of the old one, and the
  // coordinator leases its batches anew.
  ForgetLeases();
  reports_.Clear();
  failure_.reset();
  auto job = std::make_shared<proto::StartJob>(start);
  if (!start.has_plan()) *job->mutable_plan() = job_->plan();
  job_ = std::move(job);
  job_changed_ = true;
  ready_ = false;
  over_ = false;
}

void WorkState::ReportMissingPlan(const proto::StartJob& start) {
  proto::JobFailure* failure = answers_.emplace_back().mutable_failure();
  failure->set_job_id(start.job_id());
  failure->set_generation(start.generation());
  failure->set_error("the plan of the job is missing here");
  failure->set_transient(true);
}

void WorkState::OnStopJob(uint64_t job_id) {
  if (!job_ || job_->plan().job_id() != job_id) return;
  ForgetLeases();
  reports_.Clear();
  failure_.reset();
  job_.reset();
  job_changed_ = true;
  ready_ = false;
}

void WorkState::OnGrant(const proto::Grant& grant) {
  if (!job_ || failure_ || grant.job_id() != job_->plan().job_id() ||
      grant.generation() != job_->generation()) {
    return;
  }
  // Limits the counts to the plan's, so that a malformed grant cannot exhaust memory.
  const int64_t total = job_->plan().total_batches();
  for (const proto::Split& split : grant.train()) {
    if (split.first() < total && split.count() <= total) leases_.Add(split);
  }
  for (const proto::Split& split : grant.evaluate()) {
    const int64_t count = std::min(split.count(), job_->plan().validation_examples());
    for (int64_t i = 0; i < count; ++i) {
      validation_.push_back({grant.cut(), split.first() + i * split.stride()});
    }
  }
}

void WorkState::OnGrantInference(const proto::GrantInference& grant) {
  if (!inference_ || inference_->inference() != grant.inference()) return;
  // The coordinator takes a slow worker's batches back and may lease them to the same worker again.
  std::set<int64_t> on_hand(inference_batches_.begin(), inference_batches_.end());
  on_hand.insert(inferring_);
  for (const proto::Split& split : grant.batches()) {
    const int64_t count = std::min(split.count(), kInferenceBatchesMax);
    for (int64_t i = 0; i < count; ++i) {
      if (static_cast<int64_t>(inference_batches_.size()) >= kInferenceBatchesMax) return;
      const int64_t batch = split.first() + i * split.stride();
      if (on_hand.insert(batch).second) inference_batches_.push_back(batch);
    }
  }
}

void WorkState::EndInference() {
  if (inference_ == nullptr) return;
  inference_ = nullptr;
  inference_changed_ = true;
  inference_batches_.clear();
  inferring_ = -1;
}

void WorkState::OnPause(const proto::PauseWork& pause) {
  PendingPause pending;
  pending.paused.set_pause_id(pause.pause_id());
  // Batches that have not started are returned. Those that have started are finished first: their
  // gradients may be on some of the ps already. Batches granted later do not delay this answer.
  for (const proto::Split& split : leases_.TakeWaiting()) *pending.paused.add_returned() = split;
  pending.awaits = leases_.started();
  pauses_.push_back(std::move(pending));
}

void WorkState::ForgetLeases() {
  leases_.Clear();
  validation_.clear();
  pauses_.clear();
  blocked_on_ = -1;
}

std::vector<proto::TaskMessage> WorkState::TakeMessages(absl::Duration now) {
  std::vector<proto::TaskMessage> messages;
  if (failure_ && !failure_sent_) {
    *messages.emplace_back().mutable_failure() = *failure_;
    failure_sent_ = true;
  }
  ReportOver(&messages, now);
  while (AddReport(&messages, now)) {
  }
  // WorkPaused follows the reports: the coordinator takes it as the end of this worker's results.
  while (!pauses_.empty() && pauses_.front().awaits.empty()) {
    *messages.emplace_back().mutable_paused() = std::move(pauses_.front().paused);
    pauses_.pop_front();
  }
  for (proto::TaskMessage& answer : answers_) messages.push_back(std::move(answer));
  answers_.clear();
  return messages;
}

// Without this report a worker that wrongly believes that its generation is over would keep its
// leases for ever.
void WorkState::ReportOver(std::vector<proto::TaskMessage>* messages, absl::Duration now) {
  if (!over_ || !job_ || job_changed_ || failure_ || stopping_) return;
  if (!report_over_at_.has_value()) report_over_at_ = now + kReportOver;
  if (now < *report_over_at_) return;
  report_over_at_ = now + kReportOver;
  proto::WorkReport* report = messages->emplace_back().mutable_work();
  report->set_job_id(job_->plan().job_id());
  report->set_generation(job_->generation());
  report->set_generation_over(true);
}

bool WorkState::AddReport(std::vector<proto::TaskMessage>* messages, absl::Duration now) {
  if (!ready_) return false;
  WorkerLoad load;
  load.queued = leases_.waiting() + static_cast<int64_t>(leases_.started().size());
  load.pushed = PushedCount();
  load.starved = leases_.waiting() == 0;
  load.blocked_on = blocked_on_;
  // Reports everything at once if nothing will follow: before WorkPaused, and before the worker
  // stops.
  const bool all = stopping_ || (!pauses_.empty() && pauses_.front().awaits.empty());
  auto report = reports_.TakeDue(load, all, now);
  if (!report) return false;
  report->set_job_id(job_->plan().job_id());
  report->set_generation(job_->generation());
  if (stopping_) report->set_wanted(0);
  *messages->emplace_back().mutable_work() = *std::move(report);
  return true;
}

void WorkState::NotSent(const proto::TaskMessage& message) {
  switch (message.message_case()) {
    case proto::TaskMessage::kWork:
      if (message.work().generation_over()) return;
      if (IsCurrent({message.work().job_id(), message.work().generation()}))
        reports_.Requeue(message.work());
      return;
    case proto::TaskMessage::kFailure:
      failure_sent_ = false;
      return;
    default:
      answers_.push_back(message);
      return;
  }
}

// ---------------------------------------------------------------- the trainer's side

std::optional<WorkItem> WorkState::NextItem() {
  if (stopping_) return std::nullopt;
  // A change of job precedes everything else: the tasks below need the runner of the current job.
  if (job_changed_) {
    job_changed_ = false;
    WorkItem item;
    item.kind = job_ ? WorkItem::Kind::kStartJob : WorkItem::Kind::kDropJob;
    item.job = job_;
    return item;
  }
  // Inspection needs no job in progress; jobs wait for it before they begin.
  if (!inspections_.empty()) {
    WorkItem item;
    item.kind = WorkItem::Kind::kInspect;
    item.inspect = std::move(inspections_.front());
    inspections_.pop_front();
    return item;
  }
  if (!profiles_.empty()) {
    WorkItem item;
    item.kind = WorkItem::Kind::kProfile;
    item.profile = std::move(profiles_.front());
    profiles_.pop_front();
    return item;
  }
  if (inference_changed_) {
    inference_changed_ = false;
    WorkItem item;
    item.kind = inference_ ? WorkItem::Kind::kStartInference : WorkItem::Kind::kDropInference;
    item.inference = inference_;
    return item;
  }
  // Inference and the job alternate, and in the job evaluation and training, so that neither waits
  // for all batches of the other.
  const bool can_train = ready_ && leases_.Next().has_value();
  const bool can_evaluate = ready_ && !validation_.empty();
  if (!inference_batches_.empty() && !(inferred_last_ && (can_train || can_evaluate))) {
    return InferenceItem();
  }
  inferred_last_ = false;
  if (can_evaluate && !(evaluated_last_ && can_train)) return EvaluationItem();
  if (can_train) return TrainingItem();
  return std::nullopt;
}

WorkItem WorkState::InferenceItem() {
  WorkItem item;
  item.kind = WorkItem::Kind::kInfer;
  item.inference = inference_;
  item.batch = inference_batches_.front();
  inferring_ = item.batch;
  inference_batches_.pop_front();
  const size_t count = std::min(inference_batches_.size(), kNextMax);
  item.next.assign(inference_batches_.begin(), inference_batches_.begin() + count);
  inferred_last_ = true;
  return item;
}

WorkItem WorkState::EvaluationItem() {
  WorkItem item;
  item.kind = WorkItem::Kind::kEvaluate;
  item.cut = validation_.front().cut;
  item.batch = validation_.front().batch;
  validation_.pop_front();
  for (size_t i = 0; i < std::min(validation_.size(), kNextMax); ++i) {
    item.next.push_back(validation_[i].batch);
  }
  evaluated_last_ = true;
  return item;
}

WorkItem WorkState::TrainingItem() {
  WorkItem item;
  item.kind = WorkItem::Kind::kTrain;
  item.batch = *leases_.Start();
  item.next = leases_.Upcoming(kNextMax);
  item.later = leases_.Ahead(kStepsAhead);
  computing_ = item.batch;
  evaluated_last_ = false;
  return item;
}

int64_t WorkState::PushedCount() const {
  return static_cast<int64_t>(leases_.started().size()) -
         (leases_.started().contains(computing_) ? 1 : 0);
}

bool WorkState::IsCurrent(JobKey key) const {
  return job_ && !job_changed_ && key == JobKey{job_->plan().job_id(), job_->generation()};
}

void WorkState::Ready(JobKey key) {
  if (IsCurrent(key)) ready_ = true;
}

void WorkState::Failed(JobKey key, const std::string& why, bool transient) {
  if (!IsCurrent(key)) return;
  GenerationIsOver(key);
  // Kept, not only sent: OnGrant refuses work while it is set, and a new stream sends it again.
  failure_.emplace();
  failure_->set_job_id(key.job_id);
  failure_->set_generation(key.generation);
  failure_->set_error(why);
  failure_->set_transient(transient);
  failure_sent_ = false;
}

void WorkState::GenerationIsOver(JobKey key) {
  if (!IsCurrent(key)) return;
  ForgetLeases();
  reports_.Clear();
  ready_ = false;
  over_ = true;
  report_over_at_.reset();
}

void WorkState::Profiled(const proto::ProfileReport& report) {
  *answers_.emplace_back().mutable_profiled() = report;
}

void WorkState::Inspected(const proto::InspectReply& reply) {
  *answers_.emplace_back().mutable_inspected() = reply;
}

void WorkState::Inferred(proto::InferenceReport report) {
  if (!inference_ || inference_->inference() != report.inference()) return;
  inferring_ = -1;
  if (report.has_error()) inference_batches_.clear();
  *answers_.emplace_back().mutable_inferred() = std::move(report);
}

void WorkState::FinishBatch(int64_t batch) {
  leases_.Finish(batch);
  for (PendingPause& pause : pauses_) pause.awaits.erase(batch);
}

void WorkState::Applied(JobKey key, const proto::BatchRecord& record) {
  if (!IsCurrent(key)) return;
  FinishBatch(record.batch());
  reports_.AddBatch(record);
}

void WorkState::AppliedByOthers(JobKey key, int64_t batch) {
  if (IsCurrent(key)) FinishBatch(batch);
}

void WorkState::ReturnBatch(JobKey key, int64_t batch) {
  if (IsCurrent(key)) leases_.ReturnBatch(batch);
}

void WorkState::Evaluated(JobKey key, const proto::EvaluatedBatch& batch) {
  if (IsCurrent(key)) reports_.AddEvaluated(batch);
}

void WorkState::EvaluationLost(JobKey key, uint64_t cut) {
  if (!IsCurrent(key)) return;
  std::erase_if(validation_, [cut](const Validation& item) { return item.cut == cut; });
}

bool WorkState::ShouldKeepWaiting(JobKey key, int64_t batch) {
  if (stopping_ || !IsCurrent(key) || !leases_.started().contains(batch)) return false;
  // The ps may be withholding the reply until the smaller batch is applied, so waiting for `batch`
  // first would deadlock.
  const std::optional<int64_t> next = leases_.Next();
  if (next && *next < batch) return false;
  blocked_on_ = batch;
  return true;
}

}  // namespace cairn::worker
