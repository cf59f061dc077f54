#include "coordinator/training/applied_batches.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::coordinator {

absl::StatusOr<BatchRanges> OpenBatches(const proto::LedgerState& ledger, int64_t total) {
  const int64_t low_water = ledger.low_water();
  if (low_water < 0 || low_water > total) {
    return absl::DataLossError(absl::StrCat("a ledger's low-water mark is ", low_water,
                                            ", the job has ", total, " batches"));
  }
  BatchRanges open(low_water, total);
  const std::string& above = ledger.above();
  for (size_t byte = 0; byte < above.size(); ++byte) {
    for (int bit = 0; above[byte] != 0 && bit < 8; ++bit) {
      if ((static_cast<uint8_t>(above[byte]) >> bit & 1) == 0) continue;
      const int64_t batch = low_water + static_cast<int64_t>(byte) * 8 + bit;
      if (batch >= total) {
        return absl::DataLossError(
            absl::StrCat("a ledger has batch ", batch, ", the job has ", total, " batches"));
      }
      open.Remove(batch, batch + 1);
    }
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
    CAIRN_ASSIGN_OR_RETURN(const BatchRanges open, OpenBatches(ledger.everywhere(), total));
    CAIRN_ASSIGN_OR_RETURN(const BatchRanges never, OpenBatches(ledger.somewhere(), total));
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
  std::string above;
  auto apply = [&](int64_t begin, int64_t end) {
    for (int64_t offset = begin - low_water; offset < end - low_water; ++offset) {
      if (above.size() <= static_cast<size_t>(offset / 8)) above.resize(offset / 8 + 1);
      above[offset / 8] = static_cast<char>(above[offset / 8] | 1 << offset % 8);
    }
  };
  for (auto it = open.ranges().begin(); it != open.ranges().end(); ++it) {
    auto next = std::next(it);
    apply(it->second, next == open.ranges().end() ? total : next->first);
  }
  ledger.set_above(std::move(above));
  return ledger;
}

}  // namespace cairn::coordinator
