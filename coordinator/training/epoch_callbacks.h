#ifndef CAIRN_COORDINATOR_TRAINING_EPOCH_CALLBACKS_H_
#define CAIRN_COORDINATOR_TRAINING_EPOCH_CALLBACKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/callbacks/epoch_decisions.h"
#include "coordinator/event_time.h"
#include "coordinator/outbox.h"
#include "coordinator/training/history.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Runs the job's callbacks at the end of each epoch, once its batches are applied and its
// evaluation is done. The epoch's record, the decision, and the batch from which the decision holds
// are journaled in one write, before that batch is leased. So no epoch is decided twice, and a
// coordinator that replays the journal reaches the same state.
//
// The files of csv_loggers are written before the journal, so they have all epochs when the job
// ends. An epoch whose decision was lost is decided again, and its line is written in the same
// place. A file that does not answer is waited for once, for `csv_patience`; then the job
// goes on, and the lines are written when the file answers. A note says both.
//
// Advance reads the history from the journal. Not thread-safe.
class EpochCallbacks {
 public:
  // All must outlive it. It modifies `run`. The job in `plan` is validated.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
    absl::Duration csv_patience = CsvLogger::kPatience;
  };
  explicit EpochCallbacks(const Context& context);

  // Before a generation begins at this low-water mark: removes the decisions about epochs that are
  // trained again, and enters what the job fixes in advance. The files of csv_loggers are looked at
  // before they are first written.
  static void Prepare(const proto::JobPlan& plan, int64_t low_water, proto::RunRecord* run,
                      absl::Duration csv_patience = CsvLogger::kPatience);
  // Before a job that has ended goes on. FailedPrecondition: a csv_logger's file is not as the job
  // left it, so lines of others would be lost. Unavailable: it does not answer.
  static absl::Status CheckFiles(const proto::JobPlan& plan, const proto::RunRecord& run,
                                 absl::Duration csv_patience = CsvLogger::kPatience);
  // Halves the learning rate, which no schedule sets, from this batch on.
  static void HalveRate(const proto::Job& job, int64_t from_batch, proto::RunRecord* run);

  // Decides about every epoch that is ready.
  void Advance(EventTime now, Outbox* outbox);
  // Records which checkpoints are the best ones. Returns whether they changed.
  bool ChooseBest(const std::vector<proto::Manifest>& manifests, Outbox* outbox);

  // Batches of this many epochs may be leased.
  int64_t EpochsAllowed() const;
  // Whether every epoch that was cut is decided.
  bool complete() const;
  bool terminates_on_nan() const { return decisions_->terminates_on_nan(); }

 private:
  int64_t EndOf(int64_t epoch) const;
  void Decide(int64_t epoch, EventTime now, Outbox* outbox);
  proto::EpochRecord MakeRecord(int64_t epoch) const;
  void SetRate(int64_t epoch, float rate, EventTime now);
  // The rate of the epoch's last batch, as callbacks see it: not halved by rollbacks.
  float RateOfEpoch(int64_t epoch) const;
  void LogToCsv(int64_t epoch, const proto::EpochRecord& record, double rate);
  // Writes the lines that the files lack, and sets the fields below.
  void FlushCsv(absl::Duration patience);
  // `is_last`: no epoch follows. Returns whether there is a new note.
  bool NoteCsv(bool is_last, EventTime now);
  // While a file does not answer.
  void RetryCsv(EventTime now, Outbox* outbox);
  void Save(Outbox* outbox) const;

  const proto::JobPlan& plan_;
  proto::RunRecord& run_;
  History& history_;
  const absl::Duration csv_patience_;
  std::unique_ptr<EpochDecisions> decisions_;
  // Of the last FlushCsv; empty: none. The first file that cannot be written, and the first one
  // that does not answer.
  std::string csv_error_;
  std::string csv_no_answer_;
  // Whether the notes have them.
  bool is_csv_error_noted_ = false;
  bool is_csv_no_answer_noted_ = false;
  absl::Duration csv_retry_due_ = -absl::InfiniteDuration();
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_EPOCH_CALLBACKS_H_
