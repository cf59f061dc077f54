#include "coordinator/callbacks/epoch_decisions.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace cairn::coordinator {

absl::StatusOr<EpochDecisions> EpochDecisions::Create(const proto::Job& job) {
  CAIRN_ASSIGN_OR_RETURN(JobCallbacks callbacks, CreateCallbacks(job));
  return EpochDecisions(job, std::move(callbacks));
}

bool EpochDecisions::changes_training() const {
  return std::any_of(callbacks_.monitoring.begin(), callbacks_.monitoring.end(),
                     [](const auto& each) { return each.callback->changes_training(); });
}

// A missing value (an old record) is NaN, which is never better.
double EpochDecisions::Value(const std::string& monitor, const proto::EpochRecord& record) const {
  const bool of_validation = absl::StartsWith(monitor, "val_");
  const proto::EvaluationRecord& side = of_validation ? record.validation() : record.training();
  const std::string name = of_validation ? monitor.substr(4) : monitor;
  if (side.examples() > 0 && name == "loss") return side.loss();
  for (int i = 0; i < std::min(side.metrics_size(), job_->metrics_size()); ++i) {
    if (job_->metrics(i) == name) return side.metrics(i);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

EpochDecisions::Outcome EpochDecisions::Take(const proto::EpochRecord& record,
                                             float learning_rate) {
  Outcome outcome;
  EpochResult result;
  result.epoch = job_->initial_epoch() + epochs_++;
  result.learning_rate = learning_rate;
  for (MonitoringCallback& each : callbacks_.monitoring) {
    // As in Keras: of an epoch without validation (validation_freq) there is nothing to see.
    if (absl::StartsWith(each.monitor, "val_") && !record.has_validation()) continue;
    result.value = Value(each.monitor, record);
    CallbackDecision decision = each.callback->OnEpochEnd(result);
    outcome.stop |= decision.stop;
    // Each callback sees the rate of this epoch; if several set a new one, the last callback wins.
    if (decision.learning_rate.has_value()) outcome.learning_rate = decision.learning_rate;
    if (!decision.note.empty()) outcome.notes.push_back(std::move(decision.note));
  }
  return outcome;
}

std::vector<EpochDecisions::Best> EpochDecisions::bests() const {
  std::vector<Best> bests;
  for (const MonitoringCallback& each : callbacks_.monitoring) {
    const std::optional<BestEpoch> best = each.callback->best();
    if (best.has_value()) bests.push_back({each.place, each.monitor, *best});
  }
  return bests;
}

}  // namespace cairn::coordinator
