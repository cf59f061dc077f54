#include "ps_server/blocks/parked_pulls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"

namespace cairn::ps {

namespace {

constexpr size_t kCrowdMin = 16;

}  // namespace

ParkedPulls::ParkedPulls(size_t capacity)
    : capacity_(capacity), crowded_at_(std::min(kCrowdMin, capacity)) {}

ParkedPulls::~ParkedPulls() { CAIRN_CHECK(pulls_.empty()); }

void ParkedPulls::Park(Pull pull) {
  CAIRN_CHECK(!full());
  pulls_.push_back(std::move(pull));
}

std::vector<ParkedPulls::Pull> ParkedPulls::Take(absl::FunctionRef<bool(int64_t batch)> ready) {
  return TakeIf([&](const Pull& pull) { return ready(pull.batch); });
}

std::vector<ParkedPulls::Pull> ParkedPulls::TakeAbandoned() {
  std::vector<Pull> taken =
      TakeIf([](const Pull& pull) { return pull.abandoned != nullptr && pull.abandoned(); });
  crowded_at_ = std::min(std::max(kCrowdMin, 2 * pulls_.size()), capacity_);
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

}  // namespace cairn::ps
