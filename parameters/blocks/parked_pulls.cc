#include "parameters/blocks/parked_pulls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"

namespace cairn::parameters {

ParkedPulls::~ParkedPulls() { CAIRN_CHECK(pulls_.empty()); }

std::vector<ParkedPulls::Pull> ParkedPulls::Take(absl::FunctionRef<bool(int64_t batch)> ready) {
  return TakeIf([&](const Pull& pull) { return ready(pull.batch); });
}

std::vector<ParkedPulls::Pull> ParkedPulls::TakeAbandoned() {
  std::vector<Pull> taken =
      TakeIf([](const Pull& pull) { return pull.abandoned != nullptr && pull.abandoned(); });
  crowded_at_ = std::max(kCrowdMin, 2 * pulls_.size());
  return taken;
}

std::vector<ParkedPulls::Pull> ParkedPulls::TakeAll() { return std::exchange(pulls_, {}); }

std::vector<ParkedPulls::Pull> ParkedPulls::TakeIf(absl::FunctionRef<bool(const Pull&)> chosen) {
  const auto begin = std::stable_partition(pulls_.begin(), pulls_.end(),
                                           [&](const Pull& pull) { return !chosen(pull); });
  std::vector<Pull> taken(std::make_move_iterator(begin), std::make_move_iterator(pulls_.end()));
  pulls_.erase(begin, pulls_.end());
  return taken;
}

}  // namespace cairn::parameters
