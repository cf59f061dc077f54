#include "coordinator/recovery/restore_tracker.h"

#include <algorithm>

#include "common/check.h"

namespace cairn::coordinator {

// A ps that has replied is not told again, even on a new stream: loading is slow, and its memory
// holds what it loaded.
std::vector<uint32_t> RestoreTracker::TakePsToRestore() {
  std::vector<uint32_t> untold;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (ps_[ps].told || ps_[ps].ledger.has_value()) continue;
    ps_[ps].told = true;
    untold.push_back(ps);
  }
  return untold;
}

void RestoreTracker::PsAway(uint32_t ps) { ps_[ps].told = false; }

std::string RestoreTracker::Reply(uint32_t ps, const proto::RestoreReply& reply) {
  if (reply.error().empty()) ps_[ps].ledger = reply.ledger();
  return reply.error();
}

bool RestoreTracker::complete() const {
  return std::all_of(ps_.begin(), ps_.end(), [](const Ps& ps) { return ps.ledger.has_value(); });
}

std::vector<proto::LedgerReply> RestoreTracker::Ledgers() const {
  CAIRN_CHECK(complete());
  std::vector<proto::LedgerReply> ledgers;
  for (const Ps& ps : ps_) ledgers.push_back(*ps.ledger);
  return ledgers;
}

}  // namespace cairn::coordinator
