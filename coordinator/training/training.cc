#include "coordinator/training/training.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/failpoint.h"
#include "coordinator/callbacks/nonfinite_loss.h"
#include "coordinator/training/cut.h"
#include "job/batch_groups.h"
#include "job/job_plan.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

// A worker whose batch takes this many median steps may be stuck.
constexpr int64_t kPatienceInSteps = 20;
// How long workers may take to reconnect after a restart of the coordinator. Before that a batch
// that one of them still has could be leased again.
constexpr absl::Duration kReturnTime = absl::Seconds(2);
constexpr absl::Duration kAskLedgersAgain = absl::Seconds(1);
// How often all workers are reconsidered for work: on every tick.
constexpr absl::Duration kGrantToAll = absl::Milliseconds(50);

SplitQueueOptions QueueOptions(const proto::JobPlan& plan) {
  SplitQueueOptions options;
  options.batches_per_epoch = plan.batches_per_epoch();
  options.total_batches = plan.total_batches();
  options.synchronous = plan.synchronous();
  options.batches_per_update = plan.batches_per_update();
  options.window = plan.window();
  // Where a batch waits for lower ones, neighboring batches go to different workers.
  if (!plan.synchronous() && plan.window() < 0) {
    options.groups = job::BatchGroups::ForTraining(plan);
  }
  return options;
}

}  // namespace

Training::Training(const Context& context, BatchRanges open, std::vector<proto::Manifest> manifests)
    : plan_(*context.plan),
      members_(cluster::MembersOf(plan_.partition())),
      run_(*context.run),
      history_(*context.history),
      queue_(QueueOptions(plan_), std::move(open)),
      progress_timeout_(context.progress_timeout),
      replicated_(context.replicated),
      checkpointer_({context.plan, context.run, context.history, &queue_, context.progress_timeout},
                    std::move(manifests)),
      epoch_callbacks_({context.plan, context.run, context.history,
                        CsvLogger::PatienceFor(context.progress_timeout)}),
      rates_(context.plan, context.run),
      rejects_(job::NonFinitePolicyOf(plan_.job()) == job::NonFinitePolicy::kReject) {
  checkpointer_.AllowEpochs(epoch_callbacks_.EpochsAllowed());
}

void Training::Resume(EventTime now, Outbox* outbox) {
  quiet_until_ = now.monotonic + kReturnTime;
  queue_.Resume();
  rates_.ResetConfirmations();
  checkpointer_.Resume(outbox);
}

void Training::PsReconnected(uint32_t ps, Outbox* outbox) {
  rates_.PsReconnected(ps);
  checkpointer_.PsReconnected(ps, outbox);
}

void Training::AddWorker(TaskId worker) {
  workers_.insert(worker);
  CountTasks();
  everybody_is_due_ = true;
}

void Training::Adopt(TaskId worker, absl::Span<const proto::Split> leases, Outbox* outbox) {
  if (!queue_.Adopt(worker, leases)) outbox->Refuse(worker, "its leases");
  everybody_is_due_ = true;
}

void Training::RemoveWorker(TaskId worker) {
  workers_.erase(worker);
  stuck_.erase(worker);
  CountTasks();
  everybody_is_due_ = true;
  queue_.Drop(worker);
  checkpointer_.WorkerGone(worker);
  for (ProfileSession& profile : profiles_) profile.Gone(worker);
}

void Training::CountTasks() {
  const auto count = [this](proto::Role role) {
    return std::count_if(workers_.begin(), workers_.end(), [&](TaskId worker) {
      return worker.role == role && !stuck_.contains(worker);
    });
  };
  trainers_ = count(proto::WORKER);
  evaluators_ = count(proto::EVALUATOR);
}

void Training::SetStuck(TaskId worker, bool stuck, Outbox* outbox) {
  if (!workers_.contains(worker)) return;
  everybody_is_due_ = true;
  if (!stuck) {
    stuck_.erase(worker);
    return CountTasks();
  }
  stuck_.insert(worker);
  CountTasks();
  // A cut does not wait for it. If it goes on while the cut is made, the ledgers show it, and the
  // cut is made again.
  queue_.Drop(worker);
  checkpointer_.WorkerGone(worker);
  SendPause(worker, outbox);
}

// It must not begin the batches that others have now. Number 0: no cut waits for the reply.
void Training::SendPause(TaskId worker, Outbox* outbox) {
  proto::Command command;
  command.mutable_pause()->set_pause_id(0);
  outbox->Send(worker, std::move(command));
}

absl::Duration Training::Patience() const {
  return std::max(progress_timeout_, kPatienceInSteps * queue_.MedianStep());
}

void Training::Profile(ProfileSession::Options options, ProfileCallback callback, Outbox* outbox) {
  // Unique across generations and restarts: tasks tell old profiles from new ones by it.
  options.id = run_.generation() << 32 | ++last_profile_;
  options.job_id = plan_.job_id();
  profiles_.emplace_back(options, std::move(callback));
  profiles_.back().Begin(workers_, plan_.partition().ps_count(), outbox);
  for (uint32_t ps = 0; ps < plan_.partition().ps_count(); ++ps) {
    if (!IsMember(ps)) profiles_.back().Gone(PsTask(ps));
  }
}

void Training::OnProfiled(TaskId task, const proto::ProfileReport& report) {
  for (ProfileSession& profile : profiles_) profile.Reply(task, report);
}

void Training::Abandon(const absl::Status& why, Outbox* outbox) {
  checkpointer_.Abandon(why, outbox);
  for (ProfileSession& profile : profiles_) profile.Abandon(why, outbox);
}

void Training::OnWork(TaskId worker, const proto::WorkReport& report, EventTime now,
                      Outbox* outbox) {
  if (!workers_.contains(worker)) return;
  const auto is_wrong = [&](const proto::BatchRecord& record) {
    return !MayBeTrue(worker, record);
  };
  if (absl::c_any_of(report.batches(), is_wrong)) {
    proto::WorkReport possible = report;
    auto* batches = possible.mutable_batches();
    for (const proto::BatchRecord& record : *batches) {
      // A late report of an earlier generation may be of a batch that is open again.
      if (report.generation() != run_.generation() || !is_wrong(record)) continue;
      outbox->Refuse(worker, absl::StrCat("a result of batch ", record.batch()));
    }
    batches->erase(std::remove_if(batches->begin(), batches->end(), is_wrong), batches->end());
    return OnWork(worker, possible, now, outbox);
  }
  const bool all_applied =
      rejects_ || std::none_of(report.batches().begin(), report.batches().end(),
                               [](const auto& each) { return each.rejected(); });
  if (!all_applied) {
    proto::WorkReport applied = report;
    TakeUnapplied(worker, &applied);
    return OnWork(worker, applied, now, outbox);
  }
  reported_.insert(worker);
  std::vector<int64_t> batches;
  int64_t examples = 0;
  for (const proto::BatchRecord& record : report.batches()) {
    CheckLoss(record, now, outbox);
    batches.push_back(record.batch());
    examples += record.examples();
  }
  history_.Add(report.batches(), outbox);
  queue_.Done(worker, batches, now.monotonic);
  if (queue_.Report(worker, report, now.monotonic)) AskLedgers(now, outbox);
  for (const proto::EvaluatedBatch& batch : report.evaluated()) {
    if (checkpointer_.OnEvaluated(worker, batch, now.monotonic)) continue;
    outbox->Refuse(worker, absl::StrCat("the evaluation of batch ", batch.batch()));
  }
  if (batches.empty()) return;
  any_done_ = true;
  examples_rate_.Add(static_cast<double>(examples), now.monotonic);
  batches_rate_.Add(static_cast<double>(batches.size()), now.monotonic);
}

void Training::OnPaused(TaskId worker, const proto::WorkPaused& paused, Outbox* outbox) {
  everybody_is_due_ = true;
  const std::vector<proto::Split> returned(paused.returned().begin(), paused.returned().end());
  if (workers_.contains(worker) && !queue_.Return(worker, returned)) {
    return outbox->Refuse(worker, "the batches that it returns");
  }
  checkpointer_.OnPaused(worker, paused);
}

void Training::Advance(EventTime now, Outbox* outbox) {
  const bool quiet = now.monotonic < quiet_until_;
  // Cuts come first: they move the lease limit and decide whether workers rest. Epoch decisions
  // follow, since they may allow the next epoch. Grants come last, under the limits of both.
  checkpointer_.Advance(!quiet, now, outbox);
  if (failure_.empty()) failure_ = checkpointer_.failure();
  DecideEpochs(now, outbox);
  for (ProfileSession& profile : profiles_) profile.Advance(now.monotonic, outbox);
  std::erase_if(profiles_, [](const ProfileSession& profile) { return profile.over(); });
  GrantWork(/*train=*/!quiet && !checkpointer_.leasing_paused(), now, outbox);
}

// A new rate never applies to leased batches. The epochs after a decision are leased only when it
// is journaled and every ps knows it.
void Training::DecideEpochs(EventTime now, Outbox* outbox) {
  epoch_callbacks_.Advance(now, outbox);
  rates_.Announce(outbox);
  const int64_t allowed = epoch_callbacks_.EpochsAllowed();
  // When a member is lost, so is the cut that is evaluated. It can be made again as long as nothing
  // of the next epoch is trained.
  const bool evaluates = replicated_ && run_.has_kept_cut() && run_.kept_cut().to_evaluate();
  const bool may_go_on = rates_.complete() && !evaluates;
  checkpointer_.AllowEpochs(may_go_on ? allowed : std::min(allowed, run_.epochs_cut()));
  if (epoch_callbacks_.ChooseBest(checkpointer_.manifests(), outbox))
    checkpointer_.DeleteExpired(outbox);
}

// Removes the rejected batches from the report. They are neither done nor in the history: the job
// fails, or computes them again.
void Training::TakeUnapplied(TaskId worker, proto::WorkReport* report) {
  auto* batches = report->mutable_batches();
  for (const proto::BatchRecord& record : *batches) {
    if (!record.rejected()) continue;
    if (!non_finite_.has_value()) non_finite_ = {worker, record};
    if (epoch_callbacks_.terminates_on_nan() && failure_.empty()) {
      failure_ = WhyToTerminate(plan_, record);
    }
  }
  batches->erase(std::remove_if(batches->begin(), batches->end(),
                                [](const proto::BatchRecord& record) { return record.rejected(); }),
                 batches->end());
}

void Training::CheckLoss(const proto::BatchRecord& record, EventTime now, Outbox* outbox) {
  if (KeepNonfiniteLoss(plan_, record, now, &run_)) {
    outbox->PutSynced(storage::RunKey(plan_.job_id()), run_);
  }
  if (epoch_callbacks_.terminates_on_nan() && failure_.empty()) {
    failure_ = WhyToTerminate(plan_, record);
  }
}

// A worker lacks some of its leases but did not report them. Some batches may be applied (by other
// workers, or the report was lost), some not. Only the ledgers know.
void Training::AskLedgers(EventTime now, Outbox* outbox) {
  if (now.monotonic - asked_ledgers_at_ < kAskLedgersAgain) return;
  asked_ledgers_at_ = now.monotonic;
  ledgers_.clear();
  proto::Command command;
  command.mutable_ledger_query()->set_query(++last_query_);
  command.mutable_ledger_query()->set_job_id(plan_.job_id());
  command.mutable_ledger_query()->set_generation(run_.generation());
  for (const uint32_t ps : members_) outbox->Send(PsTask(ps), command);
}

bool Training::IsMember(uint32_t ps) const {
  return std::binary_search(members_.begin(), members_.end(), ps);
}

void Training::OnLedger(uint32_t ps, const proto::LedgerReply& reply) {
  if (reply.query() != last_query_ || reply.generation() != run_.generation()) return;
  if (!IsMember(ps)) return;
  ledgers_[ps] = reply;
  if (ledgers_.size() < members_.size()) return;
  std::vector<proto::LedgerReply> ledgers;
  for (const auto& [index, ledger] : ledgers_) ledgers.push_back(ledger);
  ledgers_.clear();
  const absl::StatusOr<AppliedBatches> applied = CombineLedgers(ledgers, plan_.total_batches());
  if (applied.ok()) queue_.Reconcile(applied->open);
  everybody_is_due_ = true;
}

// At the end of an epoch, for example, all would wait for the slowest one.
void Training::TakeFromSlow(EventTime now, Outbox* outbox) {
  if (!Cut::WorkersPause(plan_) || now.monotonic - granted_to_all_at_ < kGrantToAll) return;
  std::set<TaskId> sharing;
  for (const TaskId worker : workers_) {
    if (worker.role == proto::WORKER && !stuck_.contains(worker)) sharing.insert(worker);
  }
  for (const TaskId worker : queue_.TakeFromSlow(sharing, now.monotonic)) {
    SendPause(worker, outbox);
  }
}

void Training::GrantWork(bool train, EventTime now, Outbox* outbox) {
  if (train) TakeFromSlow(now, outbox);
  const GrantBasis basis = {train, checkpointer_.evaluation() != nullptr, WorkersEvaluate(),
                            queue_.limit()};
  for (const TaskId worker : TakeDue(basis, now.monotonic)) GrantTo(worker, train, now, outbox);
  if (!train) return;
  // Reports of other workers may have advanced the low-water mark, which allows more to the workers
  // that got too little.
  const std::set<TaskId>& underserved = queue_.underserved();
  for (auto next = underserved.begin(); next != underserved.end() && queue_.AnyAllowed();) {
    const TaskId worker = *next;
    GrantTo(worker, train, now, outbox);
    next = underserved.upper_bound(worker);
  }
}

std::set<TaskId> Training::TakeDue(const GrantBasis& basis, absl::Duration now) {
  std::set<TaskId> reported = std::exchange(reported_, {});
  const bool everybody = std::exchange(everybody_is_due_, false) || basis != granted_on_ ||
                         now - granted_to_all_at_ >= kGrantToAll;
  granted_on_ = basis;
  if (!everybody) return reported;
  granted_to_all_at_ = now;
  return workers_;
}

void Training::GrantTo(TaskId worker, bool train, EventTime now, Outbox* outbox) {
  if (stuck_.contains(worker)) return;
  proto::Command command;
  proto::Grant* grant = command.mutable_grant();
  if (train && worker.role == proto::WORKER) {
    for (proto::Split& split : queue_.Grant(worker, trainers_, now.monotonic)) {
      *grant->add_train() = std::move(split);
    }
  }
  EvaluationRound* const evaluation = checkpointer_.evaluation();
  if (evaluation != nullptr && (worker.role == proto::EVALUATOR || WorkersEvaluate())) {
    const int64_t count = evaluators_ + (WorkersEvaluate() ? trainers_ : 0);
    for (proto::Split& split : evaluation->Grant(worker, count, now.monotonic)) {
      grant->set_cut(evaluation->cut());
      *grant->add_evaluate() = std::move(split);
    }
  }
  if (grant->train_size() + grant->evaluate_size() == 0) return;
  grant->set_job_id(plan_.job_id());
  grant->set_generation(run_.generation());
  // From here on a ps may have more than the checkpoint of the clean stop. A job that was stopped
  // or died before has lost nothing.
  if (grant->train_size() > 0 && run_.stopped()) {
    run_.set_stopped(false);
    outbox->PutSynced(storage::RunKey(plan_.job_id()), run_);
  }
  outbox->Send(worker, std::move(command));
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.grant"); });
}

// Workers train while an evaluator evaluates, and help where something waits for the result: the
// next epoch if callbacks need it, the end of that epoch, a checkpoint that was asked for.
bool Training::WorkersEvaluate() const {
  return evaluators_ == 0 || checkpointer_.EvaluationIsUrgent();
}

void Training::FillStatus(absl::Duration now, proto::JobStatus* status) {
  const int64_t done = queue_.DoneCount();
  status->set_batches_done(done);
  status->set_epoch(plan_.job().initial_epoch() + checkpointer_.Epoch());
  status->set_batch_in_epoch(
      std::max<int64_t>(0, done - checkpointer_.Epoch() * plan_.batches_per_epoch()));
  status->set_learning_rate(
      storage::RateOfBatch(run_, std::min(done, std::max<int64_t>(0, plan_.total_batches() - 1))));
  status->set_evaluating(checkpointer_.evaluation() != nullptr);
  status->set_examples_per_second(examples_rate_.PerSecond(now));
  const double batches_per_second = batches_rate_.PerSecond(now);
  if (batches_per_second > 0) {
    status->set_eta_seconds(static_cast<double>(status->total_batches() - done) /
                            batches_per_second);
  }
  status->set_waiting_for(WaitingFor());
}

std::string Training::WaitingFor() const {
  const bool has_workers = std::any_of(workers_.begin(), workers_.end(),
                                       [](TaskId worker) { return worker.role == proto::WORKER; });
  if (!has_workers) return "for workers";
  if (!checkpointer_.AtEpochEnd()) return "";
  if (run_.has_kept_cut() && run_.kept_cut().to_evaluate()) return "for the evaluation";
  if (std::string failed = checkpointer_.FailedTries(); !failed.empty()) {
    return absl::StrCat("for the checkpoint to be written (", failed, ")");
  }
  if (run_.has_kept_cut()) return "for the checkpoint to be written";
  return checkpointer_.copying() ? "for the checkpoint to be copied" : "";
}

std::string Training::NextNeeded() const {
  if (std::string waiting = WaitingFor(); !waiting.empty()) return waiting;
  if (trainers_ == 0 && !stuck_.empty()) {
    return absl::StrCat("for ", stuck_.begin()->Name(), ", which makes no progress");
  }
  if (std::string cut = checkpointer_.NextNeeded(); !cut.empty()) return cut;
  if (!rates_.complete()) return "for every ps to take the new learning rate";
  return LowestBatchText();
}

std::string Training::NameOf(int64_t batch) const {
  return absl::StrCat("batch ", batch % plan_.batches_per_epoch() + 1, " of epoch ",
                      plan_.job().initial_epoch() + batch / plan_.batches_per_epoch() + 1);
}

std::string Training::WorkOf(TaskId worker) const {
  if (!workers_.contains(worker)) return "";
  // First the evaluation: what is trained meanwhile may be done by others.
  const EvaluationRound* const evaluation = checkpointer_.evaluation();
  const auto evaluated = evaluation == nullptr ? std::nullopt : evaluation->LowestOf(worker);
  if (evaluated.has_value()) {
    return absl::StrCat("batch ", *evaluated + 1, " and later ones of the evaluation of epoch ",
                        plan_.job().initial_epoch() + evaluation->epoch() + 1);
  }
  // The worker may have done some of them, and ended before it reported them.
  if (const auto batch = queue_.LowestOf(worker)) {
    return absl::StrCat(NameOf(*batch), " and later ones");
  }
  return queue_.Knows(worker) ? "" : StartOf(worker);
}

std::string Training::StartOf(TaskId worker) {
  return absl::StrCat("the start of ", worker.Name());
}

bool Training::OthersWork(TaskId worker) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](TaskId other) {
    return other != worker && other.role == proto::WORKER && queue_.Knows(other);
  });
}

std::string Training::LowestBatchText() const {
  const int64_t batch = queue_.LowWater();
  if (batch >= plan_.total_batches()) return "for the end of the job";
  const std::string name = absl::StrCat("for ", NameOf(batch));
  const std::optional<TaskId> owner = queue_.OwnerOf(batch);
  return owner.has_value() ? absl::StrCat(name, ", which ", owner->Name(), " has")
                           : absl::StrCat(name, ", which no worker has");
}

std::string Training::Progress() const {
  const EvaluationRound* const evaluation = checkpointer_.evaluation();
  return absl::StrCat(queue_.DoneCount(), " batches, ", run_.epochs_cut(), " epochs, cut ",
                      run_.last_cut(), ", evaluated ",
                      evaluation != nullptr ? evaluation->done_count() : 0, ", checkpoint ",
                      manifests().empty() ? 0 : manifests().back().checkpoint());
}

}  // namespace cairn::coordinator
