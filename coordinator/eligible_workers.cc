#include "coordinator/eligible_workers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Minutes(1);

}  // namespace

absl::Duration EligibleWorkers::PauseAfter(int errors) {
  if (errors >= kTries) return absl::InfiniteDuration();
  return std::min(kFirstPause * (int64_t{1} << (errors - 1)), kLongestPause);
}

bool EligibleWorkers::MayUse(TaskId worker) const {
  if (devices_.empty() || worker.role != proto::WORKER) return true;
  const Member* const member = members_.Find(worker);
  if (member == nullptr || member->devices.empty()) return false;
  const std::string& own = member->devices.front();
  return std::any_of(devices_.begin(), devices_.end(), [&own](const std::string& device) {
    return device == own || device == own.substr(0, own.find(':'));
  });
}

std::vector<TaskId> EligibleWorkers::Live(bool with_evaluators) const {
  std::vector<TaskId> workers = members_.Live(proto::WORKER);
  if (with_evaluators) {
    for (const TaskId evaluator : members_.Live(proto::EVALUATOR)) workers.push_back(evaluator);
  }
  std::erase_if(workers, [&](TaskId worker) {
    if (!MayUse(worker)) return true;
    const auto unfit = unfit_.find(worker);
    return unfit != unfit_.end() && !unfit->second.is_tried;
  });
  return workers;
}

void EligibleWorkers::Failed(TaskId worker, const std::string& why, bool transient,
                             absl::Duration now) {
  Unfit& unfit = unfit_[worker];
  unfit.why = why;
  unfit.is_tried = false;
  ++unfit.tries;
  unfit.until = transient ? now + PauseAfter(unfit.tries) : absl::InfiniteDuration();
}

std::vector<TaskId> EligibleWorkers::TakeRecovered(absl::Duration now) {
  std::vector<TaskId> recovered;
  for (auto& [worker, unfit] : unfit_) {
    if (unfit.is_tried || now < unfit.until) continue;
    unfit.is_tried = true;
    recovered.push_back(worker);
  }
  return recovered;
}

void EligibleWorkers::Forget(TaskId worker) {
  unfit_.erase(worker);
  stuck_.erase(worker);
}

void EligibleWorkers::ForgetAll() {
  unfit_.clear();
  stuck_.clear();
}

bool EligibleWorkers::SetStuck(TaskId worker, bool stuck) {
  return stuck ? stuck_.insert(worker).second : stuck_.erase(worker) > 0;
}

bool EligibleWorkers::SomeoneIsAway() const {
  for (const uint32_t index : members_.options().named_workers) {
    if (!members_.IsLive(WorkerTask(index))) return true;
  }
  return false;
}

std::optional<std::string> EligibleWorkers::WhyNoneEligible(absl::Duration now) {
  // An evaluator that cannot do the job does not matter: workers evaluate too. Nor does a worker
  // that will be tried again.
  const auto never = std::find_if(unfit_.begin(), unfit_.end(), [](const auto& entry) {
    return entry.first.role == proto::WORKER && entry.second.until == absl::InfiniteDuration();
  });
  const bool some_later = std::any_of(unfit_.begin(), unfit_.end(), [](const auto& entry) {
    return entry.first.role == proto::WORKER && entry.second.until != absl::InfiniteDuration();
  });
  if (never == unfit_.end() || some_later || !Live(/*with_evaluators=*/false).empty()) {
    nobody_since_.reset();
    return std::nullopt;
  }
  if (!nobody_since_.has_value()) nobody_since_ = now;
  if (SomeoneIsAway() && now - *nobody_since_ < members_.options().lease) return std::nullopt;
  const auto& [worker, unfit] = *never;
  return absl::StrCat(worker.Name(), ": ", unfit.why);
}

}  // namespace cairn::coordinator
