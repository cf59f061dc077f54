#include "coordinator/training/applied_batches.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/ledger_state.h"

namespace cairn::coordinator {

absl::StatusOr<BatchRanges> OpenBatches(const proto::LedgerState& ledger, int64_t total) {
  const int64_t low_water = ledger.low_water();
  if (low_water < 0 || low_water > total) {
    return absl::DataLossError(absl::StrCat("a ledger's low-water mark is ", low_water,
                                            ", the job has ", total, " batches"));
  }
  BatchRanges open(low_water, total);
  int64_t last = -1;
  job::ForEachAppliedAbove(ledger, [&](int64_t batch) {
    if (batch < total) open.Remove(batch, batch + 1);
    last = batch;
  });
  if (last >= total) {
    return absl::DataLossError(
        absl::StrCat("a ledger has batch ", last, ", the job has ", total, " batches"));
  }
  return open;
}

absl::StatusOr<AppliedBatches> CombineLedgers(absl::Span<const proto::LedgerReply> ledgers,
                                              int64_t total) {
  AppliedBatches applied;
  BatchRanges untouched(0, total);
  bool any = false;
  for (const proto::LedgerReply& ledger : ledgers) {
    if (ledger.blocks() == 0) continue;
    any = true;
    CAIRN_ASSIGN_OR_RETURN(const BatchRanges open, OpenBatches(ledger.applied_on_all(), total));
    CAIRN_ASSIGN_OR_RETURN(const BatchRanges never, OpenBatches(ledger.applied_on_any(), total));
    applied.open.Add(open);
    untouched = untouched.Intersection(never);
  }
  if (!any) applied.open.Add(0, total);
  applied.half = applied.open;
  applied.half.Remove(untouched);
  return applied;
}

proto::LedgerState MakeLedgerState(const BatchRanges& open, int64_t total) {
  proto::LedgerState ledger;
  const int64_t low_water = open.empty() ? total : open.front();
  ledger.set_low_water(low_water);
  if (open.empty()) return ledger;
  // The applied batches above the mark are in the gaps between the open ranges and after the last
  // one.
  for (auto it = open.ranges().begin(); it != open.ranges().end(); ++it) {
    const auto next = std::next(it);
    const int64_t end = next == open.ranges().end() ? total : next->first;
    for (int64_t batch = it->second; batch < end; ++batch) job::SetApplied(batch, &ledger);
  }
  return ledger;
}

}  // namespace cairn::coordinator
