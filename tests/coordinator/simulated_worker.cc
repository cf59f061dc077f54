#include "tests/coordinator/simulated_worker.h"

#include <cmath>
#include <utility>

namespace cairn::coordinator {
namespace {

constexpr int64_t kWanted = 20;
constexpr int kReportPeriod = 5;  // Steps.

}  // namespace

void SimulatedWorker::Restart(uint64_t instance_id) {
  instance_id_ = instance_id;
  ended_ = false;
  job_.reset();
  Forget();
  answers_.clear();
}

void SimulatedWorker::Forget() {
  waiting_.clear();
  batch_.reset();
  unapplied_.clear();
  rejected_.clear();
  validation_.clear();
  pauses_.clear();
  report_.Clear();
  blocked_on_ = -1;
}

void SimulatedWorker::Disconnected() {
  validation_.clear();
  pauses_.clear();
  answers_.clear();
}

proto::Join SimulatedWorker::MakeJoin() const {
  proto::Join join;
  join.set_role(proto::WORKER);
  join.set_index(index_);
  join.set_instance_id(instance_id_);
  if (!job_.has_value()) return join;
  join.set_job_id(job_->plan().job_id());
  join.set_generation(job_->generation());
  std::set<int64_t> holding = waiting_;
  holding.insert(unapplied_.begin(), unapplied_.end());
  if (batch_.has_value()) holding.insert(*batch_);
  for (const int64_t batch : holding) {
    proto::Split* split = join.add_leases();
    split->set_first(batch);
    split->set_stride(1);
    split->set_count(1);
  }
  return join;
}

void SimulatedWorker::Handle(const proto::Command& command) {
  if (command.has_welcome() && !command.welcome().keep_leases()) {
    Forget();
  } else if (command.has_inspect()) {
    ended_ |= ends_at_(Work::kInspection, 0);
    proto::InspectReply* reply = answers_.emplace_back().mutable_inspected();
    reply->set_job_id(command.inspect().job_id());
    reply->set_inspection(command.inspect().inspection());
    reply->set_examples(examples_);
    reply->set_validation_examples(command.inspect().job().has_validation() ? 35 : 0);
    if (command.inspect().job().name() == refused_job_)
      reply->set_error("train.idx.features[0]: no such file");
  } else if (command.has_start_job()) {
    const bool same = job_.has_value() &&
                      job_->plan().job_id() == command.start_job().plan().job_id() &&
                      job_->generation() == command.start_job().generation();
    if (same) return;
    Forget();
    job_ = command.start_job();
    ended_ |= ends_at_(Work::kStart, 0);
  } else if (command.has_stop_job()) {
    Forget();
    job_.reset();
  } else if (command.has_pause()) {
    proto::WorkPaused& paused = pauses_.emplace_back();
    paused.set_pause_id(command.pause().pause_id());
    for (const int64_t batch : waiting_) {
      proto::Split* split = paused.add_returned();
      split->set_first(batch);
      split->set_stride(1);
      split->set_count(1);
    }
    waiting_.clear();
  } else if (command.has_grant() && job_.has_value() &&
             command.grant().generation() == job_->generation()) {
    for (const proto::Split& split : command.grant().train()) {
      for (int64_t i = 0; i < split.count(); ++i)
        waiting_.insert(split.first() + i * split.stride());
    }
    if (command.grant().evaluate_size() > 0) cut_ = command.grant().cut();
    for (const proto::Split& split : command.grant().evaluate()) {
      for (int64_t i = 0; i < split.count(); ++i) validation_.push_back(split.first() + i);
    }
  }
}

bool SimulatedWorker::IsApplied(int64_t batch) const {
  const proto::PartitionMap& partition = job_->plan().partition();
  for (int block = 0; block < partition.blocks_size(); ++block) {
    const SimulatedPs* ps = ps_[partition.blocks(block).ps()];
    if (!ps->HasJob(job_->plan().job_id(), job_->generation())) return false;
    if (!ps->IsApplied(block, batch)) return false;
  }
  return true;
}

// The batch on which a parked pull would wait.
bool SimulatedWorker::MayStart(int64_t batch) const {
  const proto::JobPlan& plan = job_->plan();
  int64_t below = batch;
  if (plan.synchronous()) {
    below = RangeOfUpdate(plan, batch).first;
  } else if (plan.window() >= 0) {
    below = batch - plan.window();
  } else {
    return true;
  }
  for (int64_t other = std::max<int64_t>(0, below - 70); other < below; ++other) {
    if (!IsApplied(other)) return false;
  }
  return true;
}

void SimulatedWorker::Push() {
  const proto::PartitionMap& partition = job_->plan().partition();
  SimulatedPs* ps = ps_[partition.blocks(pushed_).ps()];
  const bool taken = ps->Push(job_->plan().job_id(), job_->generation(), pushed_, *batch_,
                              rejected_.contains(*batch_));
  if (!taken) return;  // The ps is away or has another generation: try again.
  if (++pushed_ < partition.blocks_size()) return;
  unapplied_.insert(*batch_);
  batch_.reset();
}

// A batch that is not finite is pushed without gradients, or only reported.
void SimulatedWorker::Compute(int64_t batch) {
  ended_ |= ends_at_(Work::kTraining, batch);
  if (not_finite_(batch)) {
    const std::string& policy = job_->plan().job().on_non_finite();
    if (policy == "fail" || policy == "rollback") {
      proto::BatchRecord* record = AddRecord(batch);
      record->set_rejected(true);
      record->set_loss(std::nan(""));
      record->set_data_not_finite(data_not_finite_);
      return;
    }
    rejected_.insert(batch);
  }
  batch_ = batch;
  pushed_ = 0;
}

proto::BatchRecord* SimulatedWorker::AddRecord(int64_t batch) {
  proto::BatchRecord* record = report_.add_batches();
  record->set_batch(batch);
  record->set_examples(10);
  record->set_loss(loss_(batch));
  record->add_metrics(1);
  proto::MetricState* state = record->add_metric_states();
  state->add_values(10);
  state->add_values(10);
  return record;
}

void SimulatedWorker::Evaluate() {
  const int64_t batch = validation_.front();
  ended_ |= ends_at_(Work::kEvaluation, batch);
  int64_t value = 0;
  for (const auto& block : job_->plan().partition().blocks()) {
    const SimulatedPs* ps = ps_[block.ps()];
    auto cut = ps->cuts().find(cut_);
    if (cut == ps->cuts().end()) return validation_.clear();
    const SimulatedPs::Block& any = cut->second.begin()->second;
    value = any.value + static_cast<int64_t>(any.rejected.size());
  }
  validation_.pop_front();
  proto::EvaluatedBatch* done = report_.add_evaluated();
  done->set_cut(cut_);
  done->set_batch(batch);
  done->set_examples(10);
  done->set_loss_sum(10.0 * static_cast<double>(value));
  proto::MetricState* state = done->add_metric_states();
  state->add_values(static_cast<double>(batch));
  state->add_values(1);
}

void SimulatedWorker::Report(bool urgent, std::vector<proto::TaskMessage>* messages) {
  const int64_t on_hand =
      static_cast<int64_t>(waiting_.size() + unapplied_.size()) + (batch_.has_value() ? 1 : 0);
  if (!urgent && ++steps_since_report_ < kReportPeriod) return;
  steps_since_report_ = 0;
  report_.set_job_id(job_->plan().job_id());
  report_.set_generation(job_->generation());
  const auto pushed = static_cast<int64_t>(unapplied_.size());
  report_.set_queued(on_hand);
  report_.set_pushed(pushed);
  report_.set_wanted(std::max<int64_t>(0, kWanted - (on_hand - pushed)));
  report_.set_blocked_on(blocked_on_);
  *messages->emplace_back().mutable_work() = std::exchange(report_, proto::WorkReport());
}

void SimulatedWorker::Step(bool connected, std::vector<proto::TaskMessage>* messages) {
  if (hangs_) return;
  if (job_.has_value()) {
    if (batch_.has_value()) {
      Push();
    } else if (!validation_.empty()) {
      Evaluate();
    } else if (!waiting_.empty()) {
      const int64_t next = *waiting_.begin();
      blocked_on_ = MayStart(next) ? -1 : next;
      if (blocked_on_ < 0) {
        waiting_.erase(next);
        // The ps answer such a pull without values, so nothing is computed and nothing is reported.
        const bool applied = job_->plan().synchronous() && IsApplied(next);
        if (!applied) Compute(next);
      }
    }
    // Updates are applied whole and in order: if the lowest batch is not applied, none is.
    const bool none =
        job_->plan().synchronous() && !unapplied_.empty() && !IsApplied(*unapplied_.begin());
    std::erase_if(unapplied_, [&](int64_t batch) {
      if (none || !IsApplied(batch)) return false;
      AddRecord(batch)->set_rejected(rejected_.erase(batch) > 0);
      return true;
    });
  }
  if (!connected) return;
  for (; !answers_.empty(); answers_.pop_front()) messages->push_back(answers_.front());
  if (!job_.has_value()) return;
  const bool at_rest = !batch_.has_value() && unapplied_.empty();
  Report(at_rest && !pauses_.empty(), messages);
  for (; at_rest && !pauses_.empty(); pauses_.pop_front()) {
    *messages->emplace_back().mutable_paused() = pauses_.front();
  }
}

}  // namespace cairn::coordinator
