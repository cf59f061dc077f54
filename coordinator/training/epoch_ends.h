#ifndef CAIRN_COORDINATOR_TRAINING_EPOCH_ENDS_H_
#define CAIRN_COORDINATOR_TRAINING_EPOCH_ENDS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "coordinator/callbacks/epoch_decisions.h"
#include "coordinator/outbox.h"
#include "coordinator/training/history.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Has the job's callbacks decide at the end of each epoch, once its batches are settled and its
// evaluation is done. What an epoch came to and what was decided are journalled in one piece, with
// the batch from which it holds, before that batch is leased: so no epoch is decided twice, and
// every machine made from the journal stands where the last one stood. Pure but for reading
// history, not thread-safe.
class EpochEnds {
 public:
  // All outlive it; `run` is changed by it. `plan`'s job was validated.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
  };
  explicit EpochEnds(const Context& context);

  // Takes back what was decided about epochs that a job at this low-water mark has still to train.
  static void Forget(int64_t low_water, proto::RunRecord* run);

  // Decides what can be decided now.
  void Advance(Outbox* outbox);
  // Notes which checkpoints are the best. True: they are others than before.
  bool ChooseBest(const std::vector<proto::Manifest>& manifests, Outbox* outbox);

  // Batches of so many epochs may be leased.
  int64_t EpochsAllowed() const;
  // Every epoch that was cut is decided.
  bool complete() const;
  bool terminates_on_nan() const { return decisions_->terminates_on_nan(); }

 private:
  int64_t EndOf(int64_t epoch) const;
  void Decide(int64_t epoch, Outbox* outbox);
  proto::EpochRecord MakeRecord(int64_t epoch) const;
  void Save(Outbox* outbox) const;

  const proto::JobPlan& plan_;
  proto::RunRecord& run_;
  History& history_;
  std::unique_ptr<EpochDecisions> decisions_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_EPOCH_ENDS_H_
