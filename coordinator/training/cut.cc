#include "coordinator/training/cut.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::coordinator {

bool Cut::Held(TaskId worker, uint64_t hold) { return hold == hold_ && holding_.erase(worker) > 0; }

void Cut::Begin(uint64_t cut, uint32_t ps_count) {
  CAIRN_CHECK(!begun() && cut != 0);
  cut_ = cut;
  ps_count_ = ps_count;
}

void Cut::Reply(uint32_t ps, const proto::CutReply& reply) {
  if (begun() && reply.cut() == cut_ && ps < ps_count_) replies_[ps] = reply;
}

absl::StatusOr<AppliedBatches> Cut::Result(int64_t total_batches) const {
  CAIRN_CHECK(complete());
  std::vector<proto::LedgerReply> ledgers;
  for (const auto& [ps, reply] : replies_) {
    if (!reply.error().empty()) {
      return absl::InternalError(
          absl::StrCat("ps ", ps, " could not make cut ", cut_, ": ", reply.error()));
    }
    ledgers.push_back(reply.ledger());
  }
  return CombineLedgers(ledgers, total_batches);
}

}  // namespace cairn::coordinator
