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

History::History(const storage::Journal* journal, uint64_t job_id, int64_t batches_per_epoch,
                 MetricSums metrics)
    : journal_(journal),
      job_id_(job_id),
      batches_per_epoch_(std::max<int64_t>(1, batches_per_epoch)),
      no_metrics_(std::move(metrics)),
      sums_(NoSums(0)) {}

absl::StatusOr<std::unique_ptr<History>> History::Load(const storage::Journal* journal,
                                                       uint64_t job_id, int64_t batches_per_epoch,
                                                       MetricSums metrics) {
  std::unique_ptr<History> history(
      new History(journal, job_id, batches_per_epoch, std::move(metrics)));
  CAIRN_RETURN_IF_ERROR(
      storage::ReadBatches(*journal, job_id, 0, [&](const proto::BatchRecord& record) {
        history->recorded_.Add(record.batch(), record.batch() + 1);
        return true;
      }));
  CAIRN_ASSIGN_OR_RETURN(storage::JobRecords records, storage::ReadJob(*journal, job_id));
  history->evaluations_ = std::move(records.evaluations);
  history->epochs_ = std::move(records.epochs);
  CAIRN_RETURN_IF_ERROR(history->Recount());
  return history;
}

void History::Count(const proto::BatchRecord& record, double sign, Sums* sums) {
  const double weight = sign * static_cast<double>(std::max<int64_t>(1, record.examples()));
  const int64_t count = sign > 0 ? 1 : -1;
  sums->batches += count;
  sums->examples += weight;
  if (std::isfinite(record.loss())) {
    sums->loss += weight * record.loss();
  } else if (std::isnan(record.loss())) {
    sums->nan += count;
  } else {
    (record.loss() > 0 ? sums->infinite : sums->minus_infinite) += count;
  }
  if (sums->metrics.Fits(record.metric_states())) sums->metrics.Add(record.metric_states(), sign);
}

absl::Status History::Recount() {
  sums_ = NoSums(0);
  if (recorded_.empty()) return absl::OkStatus();
  sums_.epoch = (recorded_.end() - 1) / batches_per_epoch_;
  return storage::ReadBatches(*journal_, job_id_, sums_.epoch * batches_per_epoch_,
                              [&](const proto::BatchRecord& record) {
                                // The journal may still have records whose erasure is in the
                                // outbox; recorded_ excludes them.
                                if (recorded_.Contains(record.batch())) Count(record, 1, &sums_);
                                return true;
                              });
}

void History::Add(const proto::BatchRecord& record, Outbox* outbox) {
  const int64_t batch = record.batch();
  const bool has_values = record.metrics_size() == record.metric_states_size();
  if (batch < 0 || !has_values || !sums_.metrics.Fits(record.metric_states())) return;
  const std::string key = storage::BatchKey(job_id_, batch);
  const int64_t epoch = batch / batches_per_epoch_;
  if (epoch > sums_.epoch) sums_ = NoSums(epoch);
  if (epoch == sums_.epoch) {
    // A batch may be computed twice. Its earlier record leaves the sums before the new one enters.
    absl::StatusOr<std::optional<std::string>> old = std::nullopt;
    if (recorded_.Contains(batch)) old = journal_->Read(key);
    proto::BatchRecord replaced;
    if (old.ok() && old->has_value() && replaced.ParseFromString(**old)) {
      Count(replaced, -1, &sums_);
    }
    Count(record, 1, &sums_);
  }
  recorded_.Add(batch, batch + 1);
  outbox->Put(key, record);
}

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

absl::Status History::RemoveUnapplied(const BatchRanges& open, Outbox* outbox) {
  const BatchRanges removed = recorded_.Intersection(open);
  for (const auto& [begin, end] : removed.ranges()) {
    for (int64_t batch = begin; batch < end; ++batch) {
      outbox->Erase(storage::BatchKey(job_id_, batch));
    }
  }
  recorded_.Remove(removed);
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
  return Recount();
}

const proto::EvaluationRecord* History::FindEvaluation(int64_t epoch) const {
  for (const proto::EvaluationRecord& evaluation : evaluations_) {
    if (evaluation.epoch() == epoch) return &evaluation;
  }
  return nullptr;
}

bool History::HasEvaluation(int64_t epoch) const { return FindEvaluation(epoch) != nullptr; }

absl::StatusOr<History::Means> History::ReadEpochMeans(int64_t epoch) const {
  Sums sums = NoSums(epoch);
  const int64_t begin = epoch * batches_per_epoch_;
  CAIRN_RETURN_IF_ERROR(
      storage::ReadBatches(*journal_, job_id_, begin, [&](const proto::BatchRecord& record) {
        if (record.batch() >= begin + batches_per_epoch_) return false;
        if (recorded_.Contains(record.batch())) Count(record, 1, &sums);
        return true;
      }));
  return MeansOf(sums);
}

History::Means History::EpochMeans() const { return MeansOf(sums_); }

double History::LossOf(const Sums& sums) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool both = sums.infinite > 0 && sums.minus_infinite > 0;
  if (sums.nan > 0 || both) return std::numeric_limits<double>::quiet_NaN();
  if (sums.infinite > 0) return kInfinity;
  if (sums.minus_infinite > 0) return -kInfinity;
  return sums.examples > 0 ? sums.loss / sums.examples : sums.loss;
}

History::Means History::MeansOf(const Sums& sums) {
  Means means;
  means.epoch = sums.epoch;
  means.batches = sums.batches;
  means.examples = sums.examples;
  means.loss = LossOf(sums);
  means.metrics = sums.metrics.Values();
  return means;
}

}  // namespace cairn::coordinator
