#ifndef CAIRN_COORDINATOR_TRAINING_EPOCH_CALLBACKS_H_
#define CAIRN_COORDINATOR_TRAINING_EPOCH_CALLBACKS_H_

#include <cstdint>
#include <memory>
#include <vector>

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
// Advance reads the history from the journal. Otherwise a pure state machine, not thread-safe.
class EpochCallbacks {
 public:
  // All must outlive it. It modifies `run`. The job in `plan` is validated.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
  };
  explicit EpochCallbacks(const Context& context);

  // Removes the decisions about epochs that a job restored at this low-water mark trains again.
  static void Forget(int64_t low_water, proto::RunRecord* run);
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
  void Save(Outbox* outbox) const;

  const proto::JobPlan& plan_;
  proto::RunRecord& run_;
  History& history_;
  std::unique_ptr<EpochDecisions> decisions_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_EPOCH_CALLBACKS_H_
