#ifndef CAIRN_COORDINATOR_TRAINING_HISTORY_H_
#define CAIRN_COORDINATOR_TRAINING_HISTORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/outbox.h"
#include "coordinator/training/batch_ranges.h"
#include "coordinator/training/metric_sums.h"
#include "proto/job.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// The losses and metrics of a job's batches and epochs, kept in the journal. A later report of a
// batch replaces the earlier one. A rollback removes the records of batches that it undoes. A lost
// report leaves a gap. Writes are not synced: no decision depends on them. Not thread-safe.
class History {
 public:
  // Over the batches of one epoch that have a record: the mean loss, weighted by examples, and the
  // metrics of these batches together.
  struct Means {
    int64_t epoch = 0;
    int64_t batches = 0;
    double examples = 0;
    double loss = 0;
    std::vector<double> metrics;
  };

  // Loads the job's records from the journal, which must outlive the history; RemoveUnapplied and
  // ReadEpochMeans read it again. `metrics`: the job's, with empty sums.
  static absl::StatusOr<std::unique_ptr<History>> Load(const storage::Journal* journal,
                                                       uint64_t job_id, int64_t batches_per_epoch,
                                                       MetricSums metrics);

  // Drops an invalid record (other metrics, a negative batch).
  void Add(const proto::BatchRecord& record, Outbox* outbox);
  void Add(const proto::EvaluationRecord& record, Outbox* outbox);
  // Appends the record of the next epoch after epochs().
  void Add(const proto::EpochRecord& record, Outbox* outbox);
  // Removes the records of the batches in `open`, and the evaluations and records of epochs that
  // are not completely applied.
  absl::Status RemoveUnapplied(const BatchRanges& open, Outbox* outbox);

  bool HasEvaluation(int64_t epoch) const;
  // Returns nullptr if there is none.
  const proto::EvaluationRecord* FindEvaluation(int64_t epoch) const;
  // From epoch 0 on.
  const std::vector<proto::EpochRecord>& epochs() const { return epochs_; }
  // An epoch's means, computed from its records in the journal in batch order: the same records
  // give the same bits, on every coordinator. Reads the whole epoch.
  absl::StatusOr<Means> ReadEpochMeans(int64_t epoch) const;
  const std::vector<proto::EvaluationRecord>& evaluations() const { return evaluations_; }
  const BatchRanges& recorded() const { return recorded_; }
  // Of the newest epoch that has a record.
  Means EpochMeans() const;

 private:
  History(const storage::Journal* journal, uint64_t job_id, int64_t batches_per_epoch,
          MetricSums metrics);

  // Sums of an epoch: losses times examples, not yet divided. Losses that are not finite are
  // counted apart, because they could not be subtracted from a sum again.
  struct Sums {
    int64_t epoch = 0;
    int64_t batches = 0;
    double examples = 0;
    double loss = 0;
    int64_t nan = 0;
    int64_t infinite = 0;
    int64_t minus_infinite = 0;
    MetricSums metrics;
  };

  Sums NoSums(int64_t epoch) const { return {.epoch = epoch, .metrics = no_metrics_}; }
  // Adds a record to the sums, or with sign -1 subtracts it.
  static void Count(const proto::BatchRecord& record, double sign, Sums* sums);
  static Means MeansOf(const Sums& sums);
  static double LossOf(const Sums& sums);
  absl::Status Recount();

  const storage::Journal* const journal_;
  const uint64_t job_id_;
  const int64_t batches_per_epoch_;
  BatchRanges recorded_;
  std::vector<proto::EvaluationRecord> evaluations_;  // By epoch.
  std::vector<proto::EpochRecord> epochs_;
  const MetricSums no_metrics_;
  // Of the newest epoch that has a record.
  Sums sums_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_HISTORY_H_
