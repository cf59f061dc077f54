#include "coordinator/callbacks/early_stopping.h"

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {

CallbackDecision EarlyStopping::OnEpochEnd(const EpochResult& result) {
  CallbackDecision decision;
  if (result.epoch < options_.start_from_epoch) return decision;
  if (!has_epoch_) best_epoch_ = result.epoch;
  has_epoch_ = true;
  ++wait_;
  if (options_.improves(result.value, best_)) {
    best_ = result.value;
    best_epoch_ = result.epoch;
    if (!options_.baseline.has_value() || options_.improves(result.value, *options_.baseline)) {
      wait_ = 0;
    }
    return decision;
  }
  if (wait_ < options_.patience || result.epoch == 0) return decision;
  decision.stop = true;
  decision.note = absl::StrCat("early_stopping after epoch ", result.epoch + 1, ": ",
                               options_.monitor, " ", ValueText(result.value), ", the best was ",
                               ValueText(best_), " in epoch ", best_epoch_ + 1);
  if (options_.restore_best_weights) absl::StrAppend(&decision.note, ", whose values are restored");
  return decision;
}

std::optional<BestEpoch> EarlyStopping::best() const {
  if (!options_.restore_best_weights || !has_epoch_) return std::nullopt;
  return BestEpoch{best_epoch_, best_, /*is_result=*/true};
}

}  // namespace cairn::coordinator
