#include "coordinator/training/cut.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/check.h"
#include "job/batch_numbers.h"

namespace cairn::coordinator {
namespace {

// The end of the update up to which all leased batches are finished.
int64_t DrainEnd(const proto::JobPlan& plan, const SplitQueue& queue, int64_t epoch_begin,
                 int64_t epoch_end) {
  const int64_t leased_end = std::max(queue.LeasedEnd(), queue.LowWater());
  if (leased_end <= epoch_begin) return epoch_begin;
  const job::BatchNumbers numbers(plan);
  return std::min(numbers.BatchesOf(numbers.UpdateOf(leased_end - 1)).end(), epoch_end);
}

}  // namespace

void DropCut(const proto::JobPlan& plan, uint64_t cut, Outbox* outbox) {
  if (cut == 0) return;
  proto::Command command;
  command.mutable_drop_cut()->set_job_id(plan.job_id());
  command.mutable_drop_cut()->set_cut(cut);
  outbox->SendToAllPs(plan.partition().ps_count(), command);
}

Cut::Cut(const proto::JobPlan* plan, uint64_t generation, SplitQueue* queue, CutPurpose purpose,
         int64_t epoch_begin, int64_t epoch_end, uint64_t pause)
    : plan_(*plan),
      members_(cluster::MembersOf(plan->partition())),
      generation_(generation),
      queue_(*queue),
      purpose_(std::move(purpose)),
      end_(WorkersPause(*plan) ? epoch_end : DrainEnd(*plan, *queue, epoch_begin, epoch_end)),
      pause_(pause) {}

void Cut::Begin(Outbox* outbox) {
  queue_.SetLimit(end_);
  if (!WorkersPause(plan_)) return;
  for (const TaskId worker : queue_.WorkersWithLeases()) {
    pausing_.insert(worker);
    proto::Command command;
    command.mutable_pause()->set_pause_id(pause_);
    outbox->Send(worker, std::move(command));
  }
}

void Cut::Paused(TaskId worker, uint64_t pause) {
  if (pause == pause_) pausing_.erase(worker);
}

bool Cut::AtRest() const {
  if (WorkersPause(plan_)) return pausing_.empty();
  return !queue_.AnyOpenBelow(end_) && !queue_.AnyLeased();
}

void Cut::Make(uint64_t cut, Outbox* outbox) {
  CAIRN_CHECK(!made() && cut != 0);
  cut_ = cut;
  phase_begun_at_.reset();
  proto::Command command;
  command.mutable_make_cut()->set_job_id(plan_.job_id());
  command.mutable_make_cut()->set_generation(generation_);
  command.mutable_make_cut()->set_cut(cut);
  for (const uint32_t ps : members_) outbox->Send(PsTask(ps), command);
}

void Cut::Reply(uint32_t ps, const proto::CutReply& reply) {
  if (!made() || reply.cut() != cut_ || reply.generation() != generation_) return;
  if (std::binary_search(members_.begin(), members_.end(), ps)) replies_[ps] = reply;
}

absl::Duration Cut::phase_begun_at(absl::Duration now) {
  if (!phase_begun_at_.has_value()) phase_begun_at_ = now;
  return *phase_begun_at_;
}

void Cut::GiveUpPs(const std::string& why) {
  if (!made()) return;
  proto::CutReply reply;
  reply.set_error(why);
  for (const uint32_t ps : members_) replies_.try_emplace(ps, reply);
}

absl::StatusOr<AppliedBatches> Cut::Result() const {
  CAIRN_CHECK(complete());
  std::vector<proto::LedgerReply> ledgers;
  for (const auto& [ps, reply] : replies_) {
    if (!reply.error().empty()) {
      return absl::InternalError(
          absl::StrCat("ps ", ps, " could not make cut ", cut_, ": ", reply.error()));
    }
    ledgers.push_back(reply.ledger());
  }
  return CombineLedgers(ledgers, plan_.total_batches());
}

bool Cut::Consistent(const AppliedBatches& applied) const {
  const bool at_epoch_end = purpose_.epoch >= 0;
  return applied.half.empty() && !(at_epoch_end && applied.open.CountBelow(end_) > 0);
}

proto::KeptCut Cut::Record(const AppliedBatches& applied) const {
  proto::KeptCut record;
  record.set_cut(cut_);
  *record.mutable_ledger() = MakeLedgerState(applied.open, plan_.total_batches());
  record.set_applied_batches(plan_.total_batches() - applied.open.size());
  record.set_to_persist(purpose_.persist);
  record.set_reason(purpose_.reason);
  record.set_to_evaluate(purpose_.evaluate);
  record.set_epoch(purpose_.epoch);
  return record;
}

std::string Cut::NextNeeded() const {
  if (!pausing_.empty()) {
    return absl::StrCat("for ", pausing_.begin()->Name(),
                        " to finish its batch before the checkpoint");
  }
  for (const uint32_t ps : members_) {
    if (made() && !replies_.contains(ps)) {
      return absl::StrCat("for ", PsTask(ps).Name(), " to cut the checkpoint");
    }
  }
  return "";
}

}  // namespace cairn::coordinator
