#include "coordinator/training/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kRowsKept = 1'000'000;
// Old rows are deleted this many at a time: a range deletion leaves a marker in the journal.
constexpr int64_t kRowsDeletedAtOnce = 65'536;

}  // namespace

History::History(const proto::JobPlan& plan)
    : job_id_(plan.job_id()),
      batches_per_epoch_(std::max<int64_t>(1, plan.batches_per_epoch())),
      total_batches_(plan.total_batches()),
      keep_rows_(plan.job().has_keep_history() ? plan.job().keep_history() : kRowsKept),
      no_metrics_(plan) {}

absl::StatusOr<std::unique_ptr<History>> History::Load(const storage::Journal& journal,
                                                       const proto::JobPlan& plan) {
  std::unique_ptr<History> history(new History(plan));
  CAIRN_ASSIGN_OR_RETURN(const proto::HistorySums sums,
                         storage::ReadHistorySums(journal, plan.job_id()));
  history->FromProto(sums);
  CAIRN_ASSIGN_OR_RETURN(storage::JobRecords records, storage::ReadJob(journal, plan.job_id()));
  history->evaluations_ = std::move(records.evaluations);
  history->epochs_ = std::move(records.epochs);
  return history;
}

// ------------------------------------------------------------------------------------ the batches

void History::Add(const google::protobuf::RepeatedPtrField<proto::BatchRecord>& records,
                  Outbox* outbox) {
  bool added = false;
  for (const proto::BatchRecord& record : records) {
    added |= Fits(record) && Add(record, outbox);
  }
  if (!added) return;
  DeleteOldRows(outbox);
  // In the same write as the rows, so a restarted coordinator has both or neither.
  outbox->Put(storage::HistorySumsKey(job_id_), ToProto());
}

bool History::Fits(const proto::BatchRecord& record) const {
  return record.batch() >= 0 && record.batch() < total_batches_ && record.examples() >= 1 &&
         record.metrics_size() == record.metric_states_size() &&
         no_metrics_.Fits(record.metric_states());
}

// Returns whether the sums changed.
bool History::Add(const proto::BatchRecord& record, Outbox* outbox) {
  const int64_t batch = record.batch();
  const int64_t epoch = batch / batches_per_epoch_;
  // The sums of older epochs are complete and gone.
  if (sums_.size() == kSumsKept && epoch < sums_.begin()->first) return false;
  Sums& sums = sums_.try_emplace(epoch, Sums{.metrics = no_metrics_}).first->second;
  if (sums.recorded.Contains(batch)) return false;
  AddTo(&sums, record);
  if (sums_.size() > kSumsKept) sums_.erase(sums_.begin());
  end_ = std::max(end_, batch + 1);
  if (batch >= first_row_) {
    // Without the states of metrics: they may be large, and only the sums need them.
    proto::BatchRecord row;
    row.set_batch(batch);
    row.set_examples(record.examples());
    row.set_loss(record.loss());
    *row.mutable_metrics() = record.metrics();
    row.set_data_not_finite(record.data_not_finite());
    row.set_rejected(record.rejected());
    outbox->Put(storage::BatchKey(job_id_, batch), row);
  }
  return true;
}

void History::AddTo(Sums* sums, const proto::BatchRecord& record) {
  sums->recorded.Add(record.batch(), record.batch() + 1);
  if (record.rejected()) {
    ++rejected_;
    return;
  }
  sums->examples += record.examples();
  if (std::isfinite(record.loss())) {
    sums->loss.Add(static_cast<double>(record.examples()) * record.loss());
  } else if (std::isnan(record.loss())) {
    ++sums->nan;
  } else {
    ++(record.loss() > 0 ? sums->infinite : sums->minus_infinite);
  }
  sums->metrics.Add(record.metric_states());
}

void History::DeleteOldRows(Outbox* outbox) {
  const int64_t first = end_ - keep_rows_;
  if (first - first_row_ < std::min(kRowsDeletedAtOnce, std::max<int64_t>(1, keep_rows_))) return;
  outbox->EraseRange(storage::BatchKey(job_id_, first_row_), storage::BatchKey(job_id_, first));
  first_row_ = first;
}

History::Means History::MeansOf(int64_t epoch) const {
  Means means;
  means.epoch = epoch;
  const auto found = sums_.find(epoch);
  const Sums sums = found != sums_.end() ? found->second : Sums{.metrics = no_metrics_};
  means.batches = sums.recorded.size();
  means.examples = sums.examples;
  means.loss = LossOf(sums);
  means.metrics = sums.metrics.Values();
  if (means.batches > 0 && means.examples == 0) {
    means.loss = std::numeric_limits<double>::quiet_NaN();
    std::fill(means.metrics.begin(), means.metrics.end(), means.loss);
  }
  return means;
}

History::Means History::NewestMeans() const {
  return MeansOf(sums_.empty() ? 0 : sums_.rbegin()->first);
}

double History::LossOf(const Sums& sums) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool both = sums.infinite > 0 && sums.minus_infinite > 0;
  if (sums.nan > 0 || both) return std::numeric_limits<double>::quiet_NaN();
  if (sums.infinite > 0) return kInfinity;
  if (sums.minus_infinite > 0) return -kInfinity;
  return sums.examples > 0 ? sums.loss.value() / static_cast<double>(sums.examples) : 0;
}

// ------------------------------------------------------------------------------------- the epochs

void History::Add(const proto::EvaluationRecord& record, Outbox* outbox) {
  std::erase_if(evaluations_, [&](const auto& other) { return other.epoch() == record.epoch(); });
  auto place = std::find_if(evaluations_.begin(), evaluations_.end(),
                            [&](const auto& other) { return other.epoch() > record.epoch(); });
  evaluations_.insert(place, record);
  outbox->Put(storage::EvaluationKey(job_id_, record.epoch()), record);
}

void History::Add(const proto::EpochRecord& record, Outbox* outbox) {
  outbox->Put(storage::EpochKey(job_id_, static_cast<int64_t>(epochs_.size())), record);
  epochs_.push_back(record);
}

const proto::EvaluationRecord* History::FindEvaluation(int64_t epoch) const {
  for (const proto::EvaluationRecord& evaluation : evaluations_) {
    if (evaluation.epoch() == epoch) return &evaluation;
  }
  return nullptr;
}

bool History::HasEvaluation(int64_t epoch) const { return FindEvaluation(epoch) != nullptr; }

// -------------------------------------------------------------------- checkpoints and rollbacks

void History::KeepSums(uint64_t checkpoint, Outbox* outbox) const {
  outbox->Put(storage::CheckpointSumsKey(job_id_, checkpoint), ToProto());
}

absl::Status History::RollBack(const storage::Journal& journal, uint64_t checkpoint,
                               const BatchRanges& open, Outbox* outbox) {
  proto::HistorySums sums;
  if (checkpoint != 0) {
    CAIRN_ASSIGN_OR_RETURN(sums, storage::ReadCheckpointSums(journal, job_id_, checkpoint));
  }
  // Rows that were deleted stay deleted.
  const int64_t first_row = first_row_;
  FromProto(sums);
  first_row_ = std::max(first_row_, std::min(first_row, end_));
  outbox->Put(storage::HistorySumsKey(job_id_), ToProto());
  for (const auto& [begin, end] : open.ranges()) {
    outbox->EraseRange(storage::BatchKey(job_id_, begin), storage::BatchKey(job_id_, end));
  }
  std::erase_if(evaluations_, [&](const proto::EvaluationRecord& evaluation) {
    const bool unapplied =
        !open.empty() && open.front() < (evaluation.epoch() + 1) * batches_per_epoch_;
    if (unapplied) outbox->Erase(storage::EvaluationKey(job_id_, evaluation.epoch()));
    return unapplied;
  });
  const int64_t applied_epochs =
      open.empty() ? std::numeric_limits<int64_t>::max() : open.front() / batches_per_epoch_;
  for (; static_cast<int64_t>(epochs_.size()) > applied_epochs; epochs_.pop_back()) {
    outbox->Erase(storage::EpochKey(job_id_, static_cast<int64_t>(epochs_.size()) - 1));
  }
  return absl::OkStatus();
}

proto::HistorySums History::ToProto() const {
  proto::HistorySums record;
  record.set_first_row(first_row_);
  record.set_end(end_);
  record.set_batches_rejected(rejected_);
  for (const auto& [epoch, sums] : sums_) {
    proto::EpochSums* each = record.add_epochs();
    each->set_epoch(epoch);
    for (const auto& [begin, end] : sums.recorded.ranges()) {
      each->add_recorded(begin);
      each->add_recorded(end);
    }
    each->set_examples(sums.examples);
    each->mutable_loss()->set_high(sums.loss.high);
    each->mutable_loss()->set_low(sums.loss.low);
    each->set_nan(sums.nan);
    each->set_infinite(sums.infinite);
    each->set_minus_infinite(sums.minus_infinite);
    sums.metrics.ToProto(each->mutable_metrics());
  }
  return record;
}

void History::FromProto(const proto::HistorySums& record) {
  first_row_ = record.first_row();
  end_ = record.end();
  rejected_ = record.batches_rejected();
  sums_.clear();
  for (const proto::EpochSums& each : record.epochs()) {
    Sums& sums = sums_.try_emplace(each.epoch(), Sums{.metrics = no_metrics_}).first->second;
    for (int i = 0; i + 1 < each.recorded_size(); i += 2) {
      sums.recorded.Add(each.recorded(i), each.recorded(i + 1));
    }
    sums.examples = each.examples();
    sums.loss = {each.loss().high(), each.loss().low()};
    sums.nan = each.nan();
    sums.infinite = each.infinite();
    sums.minus_infinite = each.minus_infinite();
    sums.metrics.FromProto(each.metrics());
  }
}

}  // namespace cairn::coordinator
