#include "coordinator/recovery/replica_survey.h"

#include <algorithm>

#include "common/check.h"

namespace cairn::coordinator {

bool ReplicaSurvey::complete() const {
  return std::all_of(ps_.begin(), ps_.end(), [](const Ps& ps) { return ps.offer.has_value(); });
}

std::optional<proto::ReplicaSource> ReplicaSurvey::Choose(uint64_t since) const {
  CAIRN_CHECK(complete());
  const auto valid = [since](const proto::ReplicaOffer& offer) {
    return offer.complete() && offer.from_generation() >= since;
  };
  std::optional<proto::ReplicaSource> source;
  for (const Ps& ps : ps_) {
    if (!valid(*ps.offer)) continue;
    if (!source.has_value()) source.emplace();
    source->set_version(std::max(source->version(), ps.offer->newest()));
  }
  if (!source.has_value()) return std::nullopt;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    const proto::ReplicaOffer& offer = *ps_[ps].offer;
    const bool has_it = offer.lowest() <= source->version() && source->version() <= offer.newest();
    if (valid(offer) && has_it) source->add_holders(ps);
  }
  return source;
}

}  // namespace cairn::coordinator
