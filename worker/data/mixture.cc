#include "worker/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace cairn::worker {

absl::StatusOr<Mixture> Mixture::Create(std::vector<int64_t> sizes, std::vector<double> weights) {
  Mixture mixture;
  mixture.sizes_ = std::move(sizes);
  mixture.counts_ = mixture.sizes_;
  if (!weights.empty()) {
    // The source that limits the pass has the least examples for its weight.
    size_t least = 0;
    const auto passes = [&](size_t i) {
      return static_cast<double>(mixture.sizes_[i]) / weights[i];
    };
    for (size_t i = 1; i < weights.size(); ++i) {
      if (passes(i) < passes(least)) least = i;
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      // Products that are whole numbers but for their rounding are not rounded down.
      const double count = std::floor(passes(least) * weights[i] * (1 + 1e-12));
      mixture.counts_[i] = i == least || count >= static_cast<double>(mixture.sizes_[i])
                               ? mixture.sizes_[i]
                               : static_cast<int64_t>(count);
      if (mixture.counts_[i] > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "\"mix[", i, "].weight\": ", weights[i], " gives no example of the source, because mix[",
          least, "] has only ", mixture.sizes_[least], " for its weight of ", weights[least]));
    }
  }
  mixture.examples_ = std::accumulate(mixture.counts_.begin(), mixture.counts_.end(), int64_t{0});
  return mixture;
}

// Divides the positions of a pass between the first source and all others, evenly, and then the
// positions of the others in the same way: of the first n of `all` positions a source of `count`
// examples has floor(n * count / all).
Mixture::Place Mixture::At(int64_t number) const {
  const int64_t pass = number / examples_;
  int64_t position = number % examples_;
  int64_t all = examples_;
  for (size_t i = 0; i < counts_.size(); ++i) {
    using Wide = __int128;
    const auto before = static_cast<int64_t>(static_cast<Wide>(position) * counts_[i] / all);
    const auto after = static_cast<int64_t>(static_cast<Wide>(position + 1) * counts_[i] / all);
    if (after > before) {
      const auto row = static_cast<Wide>(pass) * counts_[i] + before;
      return {static_cast<int>(i), static_cast<int64_t>(row % sizes_[i])};
    }
    position -= before;
    all -= counts_[i];
  }
  // The last source has all positions that are left.
  CAIRN_CHECK(false);
  return {};
}

}  // namespace cairn::worker
