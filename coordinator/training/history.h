#ifndef CAIRN_COORDINATOR_TRAINING_HISTORY_H_
#define CAIRN_COORDINATOR_TRAINING_HISTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/outbox.h"
#include "coordinator/training/batch_ranges.h"
#include "coordinator/training/metric_sums.h"
#include "coordinator/training/precise_sum.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// The losses and metrics of a job's batches and epochs, kept in the journal:
//
//   rows    the loss and metrics of each of the newest batches (Job.keep_history), for people
//   sums    running sums over the newest epochs, from which their means are computed
//   epochs  evaluations, and the records of decided epochs
//
// Rejected batches (Job.on_non_finite) have a row and are counted, but are not part of the sums.
//
// No operation reads the rows, so none takes longer in a long job. The first report of a batch
// counts. A rollback continues from the sums that were kept with the checkpoint. A lost report
// leaves a gap. Writes are not synced: no decision depends on them. Not thread-safe.
class History {
 public:
  // Over the recorded batches of one epoch: the mean loss, weighted by examples, and the metrics of
  // these batches together. NaN if all of them were rejected.
  struct Means {
    int64_t epoch = 0;
    int64_t batches = 0;
    int64_t examples = 0;
    double loss = 0;
    std::vector<double> metrics;
  };

  // Loads the history of a planned job from the journal.
  static absl::StatusOr<std::unique_ptr<History>> Load(const storage::Journal& journal,
                                                       const proto::JobPlan& plan);

  // Whether the record is of a batch that exists, and has the job's metrics.
  bool Fits(const proto::BatchRecord& record) const;
  // Adds the records of a report, but those that do not fit.
  void Add(const google::protobuf::RepeatedPtrField<proto::BatchRecord>& records, Outbox* outbox);
  void Add(const proto::EvaluationRecord& record, Outbox* outbox);
  // Appends the record of the next epoch after epochs().
  void Add(const proto::EpochRecord& record, Outbox* outbox);

  // Keeps the sums with a checkpoint.
  void KeepSums(uint64_t checkpoint, Outbox* outbox) const;
  // Returns to the sums of `checkpoint` (0: the beginning) and removes the rows of the batches in
  // `open`, and the evaluations and records of epochs that are not completely applied.
  absl::Status RollBack(const storage::Journal& journal, uint64_t checkpoint,
                        const BatchRanges& open, Outbox* outbox);

  bool HasEvaluation(int64_t epoch) const;
  // Returns nullptr if there is none.
  const proto::EvaluationRecord* FindEvaluation(int64_t epoch) const;
  // From epoch 0 on.
  const std::vector<proto::EpochRecord>& epochs() const { return epochs_; }
  const std::vector<proto::EvaluationRecord>& evaluations() const { return evaluations_; }
  // Of one of the kSumsKept newest epochs that have a record; otherwise empty.
  Means MeansOf(int64_t epoch) const;
  // Of the newest epoch that has a record.
  Means NewestMeans() const;
  int64_t batches_rejected() const { return rejected_; }

  // The next epoch begins before the decision about the last one, which may wait for its
  // evaluation.
  static constexpr size_t kSumsKept = 3;

 private:
  explicit History(const proto::JobPlan& plan);

  // Sums of an epoch. Losses that are not finite are counted apart.
  struct Sums {
    BatchRanges recorded;
    int64_t examples = 0;
    PreciseSum loss;  // Losses times examples.
    int64_t nan = 0;
    int64_t infinite = 0;
    int64_t minus_infinite = 0;
    MetricSums metrics;
  };

  bool Add(const proto::BatchRecord& record, Outbox* outbox);
  void AddTo(Sums* sums, const proto::BatchRecord& record);
  static double LossOf(const Sums& sums);
  void DeleteOldRows(Outbox* outbox);
  proto::HistorySums ToProto() const;
  void FromProto(const proto::HistorySums& record);

  const uint64_t job_id_;
  const int64_t batches_per_epoch_;
  const int64_t total_batches_;
  const int64_t keep_rows_;
  const MetricSums no_metrics_;
  std::map<int64_t, Sums> sums_;  // By epoch.
  int64_t rejected_ = 0;
  int64_t first_row_ = 0;
  int64_t end_ = 0;                                   // One past the highest recorded batch.
  std::vector<proto::EvaluationRecord> evaluations_;  // By epoch.
  std::vector<proto::EpochRecord> epochs_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_HISTORY_H_
