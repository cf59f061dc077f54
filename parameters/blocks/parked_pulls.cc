#include "parameters/blocks/parked_pulls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"

namespace cairn::parameters {

ParkedPulls::~ParkedPulls() { CAIRN_CHECK(pulls_.empty()); }

std::vector<ParkedPulls::Pull> ParkedPulls::Take(absl::FunctionRef<bool(const Pull&)> ready) {
  const auto begin = std::stable_partition(pulls_.begin(), pulls_.end(),
                                           [&](const Pull& pull) { return !ready(pull); });
  std::vector<Pull> taken(std::make_move_iterator(begin), std::make_move_iterator(pulls_.end()));
  pulls_.erase(begin, pulls_.end());
  return taken;
}

std::vector<ParkedPulls::Pull> ParkedPulls::TakeAbandoned() {
  std::vector<Pull> taken =
      Take([](const Pull& pull) { return pull.abandoned != nullptr && pull.abandoned(); });
  crowded_at_ = std::max(kCrowdMin, 2 * pulls_.size());
  return taken;
}

std::vector<ParkedPulls::Pull> ParkedPulls::TakeAll() { return std::exchange(pulls_, {}); }

}  // namespace cairn::parameters
