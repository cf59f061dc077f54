#ifndef CAIRN_COORDINATOR_RECOVERY_REPLICA_SURVEY_H_
#define CAIRN_COORDINATOR_RECOVERY_REPLICA_SURVEY_H_

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Collects what the members of a replicated job have in memory when a generation ends: which ps
// were asked, and their answers. Pure state machine, not thread-safe.
class ReplicaSurvey {
 public:
  // `absent`: these ps are not asked.
  explicit ReplicaSurvey(uint32_t ps_count, std::set<uint32_t> absent = {})
      : ps_(ps_count), absent_(std::move(absent)) {}

  // Whether this ps must be asked now.
  bool MustAsk(uint32_t ps) const { return !ps_[ps].asked && !absent_.contains(ps); }
  void Asked(uint32_t ps) { ps_[ps].asked = true; }
  // Its stream broke: the question or the answer may be lost.
  void PsAway(uint32_t ps) { ps_[ps].asked = ps_[ps].offer.has_value(); }
  // Its process is gone, and what others have may have changed since they answered.
  void AskAgain() { ps_ = std::vector<Ps>(ps_.size()); }
  void Reply(uint32_t ps, const proto::ReplicaOffer& offer) { ps_[ps].offer = offer; }
  bool complete() const;
  bool Awaits(uint32_t ps) const { return ps_[ps].asked && !ps_[ps].offer.has_value(); }

  // Returns the newest version that a ps has of all blocks, and the ps that have it; nullopt if
  // there is none. Offers from generations before `since` are out of date. Requires complete().
  std::optional<proto::ReplicaSource> Choose(uint64_t since) const;

 private:
  struct Ps {
    bool asked = false;
    std::optional<proto::ReplicaOffer> offer;
  };
  std::vector<Ps> ps_;
  std::set<uint32_t> absent_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_REPLICA_SURVEY_H_
