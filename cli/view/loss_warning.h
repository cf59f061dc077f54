#ifndef CAIRN_CLI_VIEW_LOSS_WARNING_H_
#define CAIRN_CLI_VIEW_LOSS_WARNING_H_

#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// Of a job whose training loss (of its last epoch) or last validation loss is not finite: which it
// is, when that began and what to do, as "its training loss is nan, first at batch 2 (epoch 1): try
// ...". Empty: both are finite, or there are none yet.
std::string LossWarning(const proto::JobStatus& job);

// "nan", "inf" or "-inf": the loss that LossWarning warns of; empty where that is empty.
std::string NonfiniteLoss(const proto::JobStatus& job);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_LOSS_WARNING_H_
