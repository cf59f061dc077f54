#ifndef CAIRN_JOB_LEDGER_STATE_H_
#define CAIRN_JOB_LEDGER_STATE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The batches from a ledger's low-water mark on that its bitmap may cover. The coordinator leases
// nothing beyond them.
inline constexpr int64_t kLedgerBatchesMax = 65536;

// The encoding of LedgerState: all batches below `low_water` are applied, and batch low_water + i
// is applied if bit i % 8 of byte i / 8 of `above` is set.

// Marks a batch at or above the low-water mark as applied.
void SetApplied(int64_t batch, proto::LedgerState* state);

// Visits the applied batches at or above the low-water mark in ascending order. The bit of the
// low-water mark itself is not set in a valid ledger, but it is visited too. Requires that the sum
// of low-water mark and size of the bitmap does not overflow.
void ForEachAppliedAbove(const proto::LedgerState& state,
                         absl::FunctionRef<void(int64_t batch)> visit);

}  // namespace cairn::job

#endif  // CAIRN_JOB_LEDGER_STATE_H_
