#ifndef CAIRN_CLI_VIEW_LOSS_WARNING_H_
#define CAIRN_CLI_VIEW_LOSS_WARNING_H_

#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// A warning if a job's training loss (of its last epoch) or last validation loss is not finite:
// which loss, since when, and what to do. For example "its training loss is nan, first at batch 2
// (epoch 1): try ...". Empty if both are finite or there are none yet.
std::string LossWarning(const proto::JobStatus& job);

// "nan", "inf" or "-inf": the loss of LossWarning. Empty if there is no warning.
std::string NonfiniteLoss(const proto::JobStatus& job);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_LOSS_WARNING_H_
