#include "coordinator/training/applied_batches.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/ledger_state.h"

namespace cairn::coordinator {

namespace {

constexpr int64_t kWordBits = 64;

// The end of a ledger's bitmap.
int64_t EndOf(const proto::LedgerState& ledger) {
  return ledger.low_water() + static_cast<int64_t>(ledger.above().size()) * 8;
}

// The bits of the batches [begin, begin + 64) in the ledger: bit i is batch begin + i. The batches
// below the low-water mark are applied.
uint64_t WordAt(const proto::LedgerState& ledger, int64_t begin) {
  const std::string& above = ledger.above();
  const int64_t offset = begin - ledger.low_water();
  if (offset <= -kWordBits) return ~uint64_t{0};
  if (offset < 0) {
    const uint64_t below = (uint64_t{1} << -offset) - 1;
    return below | WordAt(ledger, ledger.low_water()) << -offset;
  }
  const auto size = static_cast<int64_t>(above.size());
  const int64_t first = offset / 8;
  const int shift = static_cast<int>(offset % 8);
  uint64_t word = 0;
  for (int64_t byte = 0; byte < 8 && first + byte < size; ++byte) {
    word |= uint64_t{static_cast<uint8_t>(above[first + byte])} << (8 * byte);
  }
  word >>= shift;
  if (shift > 0 && first + 8 < size) {
    word |= uint64_t{static_cast<uint8_t>(above[first + 8])} << (kWordBits - shift);
  }
  return word;
}

absl::Status CheckLedger(const proto::LedgerState& ledger, int64_t total) {
  const int64_t low_water = ledger.low_water();
  if (low_water < 0 || low_water > total) {
    return absl::DataLossError(absl::StrCat("a ledger's low-water mark is ", low_water,
                                            ", the job has ", total, " batches"));
  }
  const size_t last = ledger.above().find_last_not_of('\0');
  if (last == std::string::npos) return absl::OkStatus();
  const int64_t batch = low_water + static_cast<int64_t>(last) * 8 +
                        std::bit_width(static_cast<uint8_t>(ledger.above()[last])) - 1;
  if (batch < total) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("a ledger has batch ", batch, ", the job has ", total, " batches"));
}

void AppendWord(uint64_t word, std::string* above) {
  for (int byte = 0; byte < 8; ++byte) above->push_back(static_cast<char>(word >> (8 * byte)));
}

// The batches that all of the ledgers have, or that any of them has. Not empty. Word by word: a
// hundred ps have ledgers of 65,536 batches each.
proto::LedgerState Combine(absl::Span<const proto::LedgerState* const> ledgers, bool all) {
  int64_t low_water = ledgers[0]->low_water();
  for (const proto::LedgerState* ledger : ledgers) {
    low_water =
        all ? std::min(low_water, ledger->low_water()) : std::max(low_water, ledger->low_water());
  }
  // Above the end of a bitmap its ledger has nothing.
  int64_t end = EndOf(*ledgers[0]);
  for (const proto::LedgerState* ledger : ledgers) {
    end = all ? std::min(end, EndOf(*ledger)) : std::max(end, EndOf(*ledger));
  }
  proto::LedgerState combined;
  combined.set_low_water(low_water);
  for (int64_t begin = low_water; begin < end; begin += kWordBits) {
    uint64_t word = WordAt(*ledgers[0], begin);
    for (const proto::LedgerState* ledger : ledgers.subspan(1)) {
      const uint64_t other = WordAt(*ledger, begin);
      word = all ? word & other : word | other;
    }
    AppendWord(word, combined.mutable_above());
  }
  return combined;
}

// Of a valid ledger.
BatchRanges OpenOf(const proto::LedgerState& ledger, int64_t total) {
  BatchRanges open(ledger.low_water(), total);
  for (int64_t begin = ledger.low_water(); begin < EndOf(ledger); begin += kWordBits) {
    uint64_t word = WordAt(ledger, begin);
    for (int64_t at = 0; word != 0;) {
      const int gap = std::countr_zero(word);
      at += gap;
      word >>= gap;
      const int run = std::countr_one(word);
      open.Remove(begin + at, begin + at + run);
      at += run;
      word = run == kWordBits ? 0 : word >> run;
    }
  }
  return open;
}

}  // namespace

absl::StatusOr<BatchRanges> OpenBatches(const proto::LedgerState& ledger, int64_t total) {
  CAIRN_RETURN_IF_ERROR(CheckLedger(ledger, total));
  return OpenOf(ledger, total);
}

absl::StatusOr<AppliedBatches> CombineLedgers(absl::Span<const proto::LedgerReply> ledgers,
                                              int64_t total) {
  std::vector<const proto::LedgerState*> on_all, on_any;
  for (const proto::LedgerReply& ledger : ledgers) {
    if (ledger.blocks() == 0) continue;
    CAIRN_RETURN_IF_ERROR(CheckLedger(ledger.applied_on_all(), total));
    CAIRN_RETURN_IF_ERROR(CheckLedger(ledger.applied_on_any(), total));
    on_all.push_back(&ledger.applied_on_all());
    on_any.push_back(&ledger.applied_on_any());
  }
  AppliedBatches applied;
  if (on_all.empty()) {
    applied.open = BatchRanges(0, total);
    return applied;
  }
  applied.open = OpenOf(Combine(on_all, /*all=*/true), total);
  applied.half = applied.open;
  applied.half.Remove(OpenOf(Combine(on_any, /*all=*/false), total));
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
