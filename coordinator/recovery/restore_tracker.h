#ifndef CAIRN_COORDINATOR_RECOVERY_RESTORE_TRACKER_H_
#define CAIRN_COORDINATOR_RECOVERY_RESTORE_TRACKER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Tracks the loading of one generation on every ps: which ps were told, and which have replied.
// Pure state machine, not thread-safe.
class RestoreTracker {
 public:
  // `absent`: these ps load nothing.
  explicit RestoreTracker(uint32_t ps_count, std::set<uint32_t> absent = {})
      : ps_(ps_count), absent_(std::move(absent)) {}

  // Returns the ps that must be told now, and marks them as told.
  std::vector<uint32_t> TakePsToRestore();
  // Its stream broke: the command may be lost, but a reply that came stays valid.
  void PsAway(uint32_t ps);
  // Its process is gone, with all that it had loaded.
  void PsLost(uint32_t ps) { ps_[ps] = Ps(); }
  // It already has the job and generation in memory.
  void PsHas(uint32_t ps, const proto::LedgerReply& ledger) { ps_[ps].ledger = ledger; }

  // The reply matches the wanted generation and checkpoint. Returns its error.
  std::string Reply(uint32_t ps, const proto::RestoreReply& reply);

  // Whether the reply of this ps is missing.
  bool Awaits(uint32_t ps) const { return ps_[ps].told && !ps_[ps].ledger.has_value(); }
  bool complete() const;
  // The ledgers of every ps that is not absent. Requires complete().
  std::vector<proto::LedgerReply> Ledgers() const;

 private:
  struct Ps {
    bool told = false;
    std::optional<proto::LedgerReply> ledger;
  };
  std::vector<Ps> ps_;
  std::set<uint32_t> absent_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_RESTORE_TRACKER_H_
