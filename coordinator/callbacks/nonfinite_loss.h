#ifndef CAIRN_COORDINATOR_CALLBACKS_NONFINITE_LOSS_H_
#define CAIRN_COORDINATOR_CALLBACKS_NONFINITE_LOSS_H_

#include <string>

#include "coordinator/event_time.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

// Losses and gradients that are NaN or infinite: records, reports and what follows from them.
namespace cairn::coordinator {

// Keeps the first batch with such a loss or gradient, and the first such evaluation, in `run`, and
// adds a note; an evaluation after such a batch adds none. True: `run` has changed; the caller
// journals it.
bool KeepNonfiniteLoss(const proto::JobPlan& plan, const proto::BatchRecord& record, EventTime now,
                       proto::RunRecord* run);
bool KeepNonfiniteLoss(const proto::JobPlan& plan, const proto::EvaluationRecord& record,
                       EventTime now, proto::RunRecord* run);

// Names the batch and what is not finite: "the loss of batch 3 in epoch 1 is nan (worker 2): its
// data are not finite".
std::string NonfiniteBatchText(const proto::JobPlan& plan, const proto::BatchRecord& record,
                               const std::string& worker);

// What becomes of a job that does not go on after such a batch ("on_non_finite" is not "reject").
struct NonfiniteRollback {
  // Why the job fails, to be put after NonfiniteBatchText. Empty: it rolls back to its newest
  // checkpoint, with half the learning rate.
  std::string failure;
  // The checkpoint that the generation began with is not to be used again: its values are spoiled.
  bool base_is_spoiled = false;
};
// Counts the rollback in `run`; the caller journals it. `any_done`: the generation has applied a
// batch. `newest`: names the newest checkpoint.
NonfiniteRollback DecideNonfiniteRollback(const proto::JobPlan& plan,
                                          const proto::BatchRecord& record, bool any_done,
                                          const std::string& newest, proto::RunRecord* run);

// Why terminate_on_nan fails the job at this batch; empty: its loss is finite.
std::string WhyToTerminate(const proto::JobPlan& plan, const proto::BatchRecord& record);

// Logs a warning if the loss of the last epoch (`run` has it) or of the last evaluation is not
// finite. `last`: null if there was none.
void WarnOfNonfiniteEnd(const proto::JobPlan& plan, const proto::RunRecord& run,
                        const proto::EvaluationRecord* last);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_NONFINITE_LOSS_H_
