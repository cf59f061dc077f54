#ifndef CAIRN_COORDINATOR_CALLBACKS_PLANNED_RATES_H_
#define CAIRN_COORDINATOR_CALLBACKS_PLANNED_RATES_H_

#include "google/protobuf/repeated_ptr_field.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// The rate of the job's optimizer before the first update.
float InitialRate(const proto::Job& job);

// The learning rates that a job fixes in advance, in ascending order of batches; empty: the
// optimizer's rate is never changed. With R the optimizer's rate and G = batches_per_update:
//
//   reduce_lr_on_plateau     R from batch 0, where the callback's decisions begin
//   scale_learning_rate      R, and the rates below, times G
//   learning_rate_scheduler  at the begin of each epoch the rate of this epoch
//   learning_rate_warmup     in update u (from 0) of the U updates of epoch e < warmup_epochs,
//                            initial_lr / size * ((e + (u + 1) / U) * (size - 1) / warmup_epochs +
//                            1), then initial_lr or the scheduler's rate (Horovod 0.28,
//                            horovod/_keras/callbacks.py)
//
// Epochs count from 0, whatever initial_epoch is. A pure function of the validated plan.
google::protobuf::RepeatedPtrField<proto::RateChange> PlannedRates(const proto::JobPlan& plan);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_PLANNED_RATES_H_
