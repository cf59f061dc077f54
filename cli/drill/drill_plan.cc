#include "cli/drill/drill_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "common/random.h"

namespace cairn::cli {
namespace {

constexpr double kDelayMin = 0.5;
constexpr double kDelayMax = 2.5;

// The draws of one fault.
constexpr uint64_t kDrawIndex = 0;
constexpr uint64_t kDrawDelay = 1;

// The kinds in the order of this round (Fisher-Yates).
std::vector<FaultKind> ShuffledKinds(std::vector<FaultKind> kinds, uint64_t key) {
  for (size_t i = kinds.size(); i > 1; --i) {
    std::swap(kinds[i - 1], kinds[RandomBelow(key, i, i)]);
  }
  return kinds;
}

bool IsOfWorker(FaultKind kind) {
  return kind == FaultKind::kKillWorker || kind == FaultKind::kHangWorker;
}

bool IsOfPs(FaultKind kind) { return kind == FaultKind::kKillPs || kind == FaultKind::kHangPs; }

}  // namespace

const std::vector<DrillPlan>& DrillPlans() {
  using enum FaultKind;
  static const auto* const plans = new std::vector<DrillPlan>{
      {"workers", "kills workers", {kKillWorker}, 4},
      {"ps", "kills parameter servers", {kKillPs}, 3},
      {"coordinator", "kills the coordinator", {kKillCoordinator}, 3},
      {"everything", "kills all processes at the same time", {kKillAll}, 2},
      {"hangs",
       "stops workers and ps past their leases, then continues them",
       {kHangWorker, kHangPs},
       4},
      {"soak",
       "all of these faults, until the job ends",
       {kKillWorker, kKillPs, kKillCoordinator, kKillAll, kHangWorker, kHangPs},
       6,
       true},
  };
  return *plans;
}

absl::StatusOr<const DrillPlan*> FindDrillPlan(const std::string& name) {
  std::vector<std::string> names;
  for (const DrillPlan& plan : DrillPlans()) {
    if (plan.name == name) return &plan;
    names.push_back(plan.name);
  }
  const std::string known = absl::StrJoin(names, ", ");
  if (name == "partitions" || name == "disk") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--plan: ", name, " is not available: it needs ",
        name == "disk" ? "a small file system of its own" : "a network of its own for each task",
        ", which only root can make; plans: ", known));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--plan: there is no plan ", name, DidYouMean(name, names), "; plans: ", known));
}

Fault PlannedFault(const DrillPlan& plan, uint64_t seed, int number, int ps, int workers) {
  const int kinds = static_cast<int>(plan.kinds.size());
  const uint64_t round_key = DeriveKey(DeriveKey(seed, "kinds"), number / kinds);
  const uint64_t key = DeriveKey(DeriveKey(seed, "fault"), number);
  Fault fault;
  fault.kind = ShuffledKinds(plan.kinds, round_key)[number % kinds];
  const int tasks = IsOfWorker(fault.kind) ? workers : IsOfPs(fault.kind) ? ps : 1;
  fault.index = static_cast<int>(RandomBelow(key, kDrawIndex, tasks));
  fault.delay_seconds = kDelayMin + (kDelayMax - kDelayMin) * RandomUniform(key, kDrawDelay);
  return fault;
}

bool IsHang(FaultKind kind) { return kind == FaultKind::kHangWorker || kind == FaultKind::kHangPs; }

std::string FaultText(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kKillWorker:
      return absl::StrCat("kill -9 worker ", fault.index);
    case FaultKind::kKillPs:
      return absl::StrCat("kill -9 ps ", fault.index);
    case FaultKind::kKillCoordinator:
      return "kill -9 the coordinator";
    case FaultKind::kKillAll:
      return "kill -9 all processes";
    case FaultKind::kHangWorker:
      return absl::StrCat("stop worker ", fault.index, " past its lease");
    case FaultKind::kHangPs:
      return absl::StrCat("stop ps ", fault.index, " past its lease");
  }
  return "";
}

std::vector<std::string> TasksOf(const Fault& fault, int ps, int workers) {
  if (IsOfWorker(fault.kind)) return {absl::StrCat("worker-", fault.index)};
  if (IsOfPs(fault.kind)) return {absl::StrCat("ps-", fault.index)};
  std::vector<std::string> tasks = {"coordinator"};
  if (fault.kind == FaultKind::kKillCoordinator) return tasks;
  for (int i = 0; i < ps; ++i) tasks.push_back(absl::StrCat("ps-", i));
  for (int i = 0; i < workers; ++i) tasks.push_back(absl::StrCat("worker-", i));
  return tasks;
}

}  // namespace cairn::cli
