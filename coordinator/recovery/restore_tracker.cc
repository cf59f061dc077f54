#include "coordinator/recovery/restore_tracker.h"

#include "common/check.h"

namespace cairn::coordinator {

// A ps that has replied is not told again, even on a new stream: loading is slow, and its memory
// holds what it loaded.
std::vector<uint32_t> RestoreTracker::TakePsToRestore() {
  std::vector<uint32_t> untold;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (ps_[ps].told || ps_[ps].ledger.has_value() || absent_.contains(ps)) continue;
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
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (!ps_[ps].ledger.has_value() && !absent_.contains(ps)) return false;
  }
  return true;
}

std::vector<proto::LedgerReply> RestoreTracker::Ledgers() const {
  CAIRN_CHECK(complete());
  std::vector<proto::LedgerReply> ledgers;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (!absent_.contains(ps)) ledgers.push_back(*ps_[ps].ledger);
  }
  return ledgers;
}

}  // namespace cairn::coordinator
