#ifndef CAIRN_CLI_DRILL_DRILL_PLAN_H_
#define CAIRN_CLI_DRILL_DRILL_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/drill/fault_proxy.h"

namespace cairn::cli {

enum class FaultKind {
  kKillWorker,
  kKillPs,
  kKillCoordinator,
  kKillAll,
  // SIGSTOP until the cluster has given the task up, then SIGCONT.
  kHangWorker,
  kHangPs,
  // In the network.
  kCutOffWorker,
  kCutOffPs,
  kMuteWorker,
  kDeafPs,
  kCutWorkerFromPs,
  kResetWorker,
  kDelayWorker,
  kSlowPs,
  kCorruptWorker,
  kCorruptPs,
  // On a disk.
  kFullDiskPs,
  kErrorDiskPs,
  kHangDiskPs,
  kSlowDiskPs,
  kErrorDataWorker,
  kHangDataWorker,
  kFullDiskCoordinator,
  kErrorDiskCoordinator,
  kHangDiskCoordinator,
  kSlowDiskCoordinator,
};

// How a fault is made.
enum class FaultMeans {
  kKill,       // SIGKILL. The task is started again.
  kStop,       // SIGSTOP, then SIGCONT.
  kNetwork,    // The drill's proxy disturbs the task's connections.
  kFileLimit,  // RLIMIT_FSIZE 0: writes to files fail, as on a full disk.
  kFailpoint,  // Reads, writes or syncs of the task fail, hang or take long.
};

// How the cluster shows that it has noticed a fault.
enum class FaultSign {
  kTaskLost,          // The task is not live, or has joined again. Of a coordinator: it is away.
  kCheckpointFailed,  // A checkpoint was given up.
  kStuck,             // The worker is said to be stuck.
  kNone,              // It need not notice anything, only go on.
};

// What is known about a kind of fault.
struct FaultTraits {
  FaultKind kind;
  FaultMeans means;
  FaultSign sign;
  // $0 is the task.
  const char* text;
  // It lasts until it is noticed, but at least so long.
  double seconds = 0;
  // kNetwork: of the bytes that the task sends, and of those that it receives.
  LinkFault sent;
  LinkFault received;
  // kNetwork: only connections to the first ps.
  bool only_to_ps = false;
  // kFailpoint: as for --failpoint; empty for the others.
  const char* failpoint = "";
};

const FaultTraits& TraitsOf(FaultKind kind);

// A named choice of faults for `cairn drill`.
struct DrillPlan {
  std::string name;
  std::string description;
  std::vector<FaultKind> kinds;
  // The number of faults unless --faults names another one.
  int faults = 0;
  // More faults follow until the drill's duration is over; `faults` of them must fire.
  bool is_soak = false;
};

// All plans, in the order of the help.
const std::vector<DrillPlan>& DrillPlans();

// InvalidArgument: there is no such plan. The message names the plans.
absl::StatusOr<const DrillPlan*> FindDrillPlan(const std::string& name);

struct Fault {
  FaultKind kind = FaultKind::kKillWorker;
  // Of the worker or ps; 0 for the other kinds.
  int index = 0;
  // The cluster has no ps: a fault of ps N is one of worker N's process, which holds its
  // parameters.
  bool is_of_holder = false;
  // For how long the job must have made progress before the fault.
  double delay_seconds = 0;
};

// Fault `number` (from 0) of a drill: a pure function of its arguments. As many consecutive faults
// as the plan has kinds contain each kind once. `ps` is 0 if the workers hold the parameters.
Fault PlannedFault(const DrillPlan& plan, uint64_t seed, int number, int ps, int workers);

// The number of tasks that join as ps.
inline int HoldersOf(int ps, int workers) { return ps > 0 ? ps : workers; }

// InvalidArgument: a fault of the plan cannot be made in such a cluster.
absl::Status CheckPlanFits(const DrillPlan& plan, int ps, int workers);

// It lasts for a while. The others are over at once.
bool IsLasting(FaultKind kind);

// Whether any fault of the plan is made by these means.
bool UsesMeans(const DrillPlan& plan, FaultMeans means);

// Within how many seconds the cluster should be at full speed after such a fault, if its ps have
// `gigabytes` of variables; nullopt: there is no goal. A busy machine may miss it, so it is no part
// of the verdict.
std::optional<double> RecoveryGoal(const Fault& fault, double gigabytes);

// "kill -9 worker 1".
std::string FaultText(const Fault& fault);

// The affected tasks of a local cluster ("worker-1").
std::vector<std::string> TasksOf(const Fault& fault, int ps, int workers);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_DRILL_PLAN_H_
