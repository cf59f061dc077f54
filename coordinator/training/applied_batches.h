#ifndef CAIRN_COORDINATOR_TRAINING_APPLIED_BATCHES_H_
#define CAIRN_COORDINATOR_TRAINING_APPLIED_BATCHES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/training/batch_ranges.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// What the ledgers of all ps together say about the batches [0, total).
struct AppliedBatches {
  BatchRanges open;  // Not applied on every block of every ps.
  BatchRanges half;  // The subset of `open` that is applied on at least one block.
};

// Combines the ledgers of all ps. A ps without pushed blocks is ignored; if no ps has any, no batch
// is applied. Ledgers come from other processes: DataLoss if one of them is invalid.
absl::StatusOr<AppliedBatches> CombineLedgers(absl::Span<const proto::LedgerReply> ledgers,
                                              int64_t total);

// The batches of [0, total) that `ledger` lacks. DataLoss: it is no ledger of `total` batches.
absl::StatusOr<BatchRanges> OpenBatches(const proto::LedgerState& ledger, int64_t total);

// The ledger that lacks exactly `open` of [0, total).
proto::LedgerState MakeLedgerState(const BatchRanges& open, int64_t total);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_APPLIED_BATCHES_H_
