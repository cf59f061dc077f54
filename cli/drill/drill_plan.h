#ifndef CAIRN_CLI_DRILL_DRILL_PLAN_H_
#define CAIRN_CLI_DRILL_DRILL_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cli {

enum class FaultKind {
  kKillWorker,
  kKillPs,
  kKillCoordinator,
  kKillAll,
  // SIGSTOP until the cluster has given the task up, then SIGCONT.
  kHangWorker,
  kHangPs,
};

// A named choice of faults for `cairn drill`.
struct DrillPlan {
  std::string name;
  std::string description;
  std::vector<FaultKind> kinds;
  // The number of faults unless --faults names another one.
  int faults = 0;
  // More faults follow until the job ends; `faults` of them must fire.
  bool until_end = false;
};

// All plans, in the order of the help.
const std::vector<DrillPlan>& DrillPlans();

// InvalidArgument: there is no such plan, or it cannot be executed on one machine without root. The
// message names the plans.
absl::StatusOr<const DrillPlan*> FindDrillPlan(const std::string& name);

struct Fault {
  FaultKind kind = FaultKind::kKillWorker;
  // Of the worker or ps; 0 for the other kinds.
  int index = 0;
  // For how long the job must have made progress before the fault.
  double delay_seconds = 0;
};

// Fault `number` (from 0) of a drill: a pure function of its arguments. As many consecutive faults
// as the plan has kinds contain each kind once.
Fault PlannedFault(const DrillPlan& plan, uint64_t seed, int number, int ps, int workers);

bool IsHang(FaultKind kind);

// "kill -9 worker 1".
std::string FaultText(const Fault& fault);

// The affected tasks of a local cluster ("worker-1").
std::vector<std::string> TasksOf(const Fault& fault, int ps, int workers);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_DRILL_PLAN_H_
