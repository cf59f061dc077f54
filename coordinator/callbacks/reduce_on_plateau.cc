#include "coordinator/callbacks/reduce_on_plateau.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/callbacks/improvement.h"

namespace cairn::coordinator {

ReduceOnPlateau::ReduceOnPlateau(Options options)
    : options_(std::move(options)),
      best_(options_.larger_is_better ? -std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::infinity()) {}

bool ReduceOnPlateau::Improves(double value) const {
  return options_.larger_is_better ? value > best_ + options_.min_delta
                                   : value < best_ - options_.min_delta;
}

CallbackDecision ReduceOnPlateau::OnEpochEnd(const EpochResult& result) {
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    wait_ = 0;
  }
  if (Improves(result.value)) {
    best_ = result.value;
    wait_ = 0;
    return {};
  }
  if (cooldown_left_ > 0 || ++wait_ < options_.patience) return {};
  // Keras stores the rate as a float and computes in doubles.
  const double old_rate = result.learning_rate;
  if (old_rate <= static_cast<float>(options_.min_lr)) return {};
  CallbackDecision decision;
  const double rate = std::max(old_rate * options_.factor, options_.min_lr);
  decision.learning_rate = static_cast<float>(rate);
  decision.note =
      absl::StrCat("reduce_lr_on_plateau after epoch ", result.epoch + 1, ": learning rate ",
                   ValueText(old_rate), " -> ", ValueText(rate), " (", options_.monitor, " ",
                   ValueText(result.value), ", the best was ", ValueText(best_), ")");
  cooldown_left_ = options_.cooldown;
  wait_ = 0;
  return decision;
}

}  // namespace cairn::coordinator
