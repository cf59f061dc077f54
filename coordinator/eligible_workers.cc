#include "coordinator/eligible_workers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {

std::vector<TaskId> EligibleWorkers::Live(bool with_evaluators) const {
  std::vector<TaskId> workers = members_.Live(proto::WORKER);
  if (with_evaluators) {
    for (const TaskId evaluator : members_.Live(proto::EVALUATOR)) workers.push_back(evaluator);
  }
  std::erase_if(workers, [&](TaskId worker) { return unfit_.contains(worker); });
  return workers;
}

bool EligibleWorkers::SomeoneIsAway() const {
  for (const uint32_t index : members_.options().named_workers) {
    if (!members_.IsLive(WorkerTask(index))) return true;
  }
  return false;
}

std::optional<std::string> EligibleWorkers::WhyNoneEligible(absl::Duration now) {
  // An evaluator that cannot do the job does not matter: workers evaluate too.
  const auto unfit = std::find_if(unfit_.begin(), unfit_.end(), [](const auto& entry) {
    return entry.first.role == proto::WORKER;
  });
  if (unfit == unfit_.end() || !Live(/*with_evaluators=*/false).empty()) {
    nobody_since_.reset();
    return std::nullopt;
  }
  if (!nobody_since_.has_value()) nobody_since_ = now;
  if (SomeoneIsAway() && now - *nobody_since_ < members_.options().lease) return std::nullopt;
  const auto& [worker, why] = *unfit;
  return absl::StrCat(worker.Name(), ": ", why);
}

}  // namespace cairn::coordinator
