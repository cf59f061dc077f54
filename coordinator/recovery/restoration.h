#ifndef CAIRN_COORDINATOR_RECOVERY_RESTORATION_H_
#define CAIRN_COORDINATOR_RECOVERY_RESTORATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// One generation of a job on its way into the memory of every ps: who has been told, who has
// answered. A pure machine, not thread-safe.
class Restoration {
 public:
  explicit Restoration(uint32_t ps_count) : ps_(ps_count) {}

  // The ps to be told now.
  std::vector<uint32_t> TakeUntold();
  // Its stream is broken: what it was told may be lost, what it answered holds.
  void PsAway(uint32_t ps);
  // Its process is gone, and all that it had loaded.
  void PsLost(uint32_t ps) { ps_[ps] = Ps(); }
  // It has the job and generation in memory already.
  void PsHas(uint32_t ps, const proto::LedgerReply& ledger) { ps_[ps].ledger = ledger; }

  // The reply is of the wanted generation and checkpoint. Returns its error.
  std::string Reply(uint32_t ps, const proto::RestoreReply& reply);

  bool complete() const;
  // Of every ps; complete() only.
  std::vector<proto::LedgerReply> Ledgers() const;

 private:
  struct Ps {
    bool told = false;
    std::optional<proto::LedgerReply> ledger;
  };
  std::vector<Ps> ps_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_RESTORATION_H_
