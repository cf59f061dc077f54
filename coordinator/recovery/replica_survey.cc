#include "coordinator/recovery/replica_survey.h"

#include <algorithm>

#include "common/check.h"

namespace cairn::coordinator {

bool ReplicaSurvey::complete() const {
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (!ps_[ps].offer.has_value() && !absent_.contains(ps)) return false;
  }
  return true;
}

std::optional<proto::ReplicaSource> ReplicaSurvey::Choose(uint64_t since) const {
  CAIRN_CHECK(complete());
  const auto valid = [since](const proto::ReplicaOffer& offer) {
    return offer.complete() && offer.from_generation() >= since;
  };
  std::optional<proto::ReplicaSource> source;
  for (const Ps& ps : ps_) {
    if (!ps.offer.has_value() || !valid(*ps.offer)) continue;
    if (!source.has_value()) source.emplace();
    source->set_version(std::max(source->version(), ps.offer->newest()));
  }
  if (!source.has_value()) return std::nullopt;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    if (!ps_[ps].offer.has_value()) continue;
    const proto::ReplicaOffer& offer = *ps_[ps].offer;
    const bool has_it = offer.lowest() <= source->version() && source->version() <= offer.newest();
    if (valid(offer) && has_it) source->add_holders(ps);
  }
  return source;
}

}  // namespace cairn::coordinator
