#include "cli/drill/drill_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
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
  switch (kind) {
    case FaultKind::kKillWorker:
    case FaultKind::kHangWorker:
    case FaultKind::kCutOffWorker:
    case FaultKind::kMuteWorker:
    case FaultKind::kCutWorkerFromPs:
    case FaultKind::kResetWorker:
    case FaultKind::kDelayWorker:
    case FaultKind::kCorruptWorker:
    case FaultKind::kErrorDataWorker:
    case FaultKind::kHangDataWorker:
      return true;
    default:
      return false;
  }
}

bool IsOfPs(FaultKind kind) {
  switch (kind) {
    case FaultKind::kKillPs:
    case FaultKind::kHangPs:
    case FaultKind::kCutOffPs:
    case FaultKind::kDeafPs:
    case FaultKind::kSlowPs:
    case FaultKind::kCorruptPs:
    case FaultKind::kFullDiskPs:
    case FaultKind::kErrorDiskPs:
    case FaultKind::kHangDiskPs:
    case FaultKind::kSlowDiskPs:
      return true;
    default:
      return false;
  }
}

// Of faults that nothing has to notice.
constexpr double kLastingSeconds = 5;
// Longer than the progress timeout of a drill's coordinator (see FaultInjector).
constexpr double kHangingSeconds = 8;

using Kind = LinkFault::Kind;
constexpr LinkFault kHold = {Kind::kHold, 0};
constexpr LinkFault kClose = {Kind::kClose, 0};
constexpr LinkFault kDelay = {Kind::kDelay, 0.2};
constexpr LinkFault kSlow = {Kind::kSlow, 200e3};
constexpr LinkFault kCorrupt = {Kind::kCorrupt, 0.2};
constexpr auto kNetwork = FaultMeans::kNetwork;
constexpr auto kFailpoint = FaultMeans::kFailpoint;
constexpr auto kTaskLost = FaultSign::kTaskLost;
constexpr auto kCheckpointFailed = FaultSign::kCheckpointFailed;
constexpr auto kNone = FaultSign::kNone;

using enum FaultKind;
constexpr FaultTraits kTraits[] = {
    {kKillWorker, FaultMeans::kKill, kTaskLost, "kill -9 $0"},
    {kKillPs, FaultMeans::kKill, kTaskLost, "kill -9 $0"},
    {kKillCoordinator, FaultMeans::kKill, kTaskLost, "kill -9 $0"},
    {kKillAll, FaultMeans::kKill, kTaskLost, "kill -9 $0"},
    {kHangWorker, FaultMeans::kStop, kTaskLost, "stop $0 past its lease"},
    {kHangPs, FaultMeans::kStop, kTaskLost, "stop $0 past its lease"},
    {kCutOffWorker, kNetwork, kTaskLost, "cut $0 off from all others", 0, kHold, kHold},
    {kCutOffPs, kNetwork, kTaskLost, "cut $0 off from all others", 0, kHold, kHold},
    {kMuteWorker, kNetwork, kTaskLost, "nothing that $0 sends arrives", 0, kHold, {}},
    {kDeafPs, kNetwork, kTaskLost, "nothing that is sent to $0 arrives", 0, {}, kHold},
    {kCutWorkerFromPs, kNetwork, kNone, "cut $0 off from ps 0 only", 2 * kLastingSeconds, kHold,
     kHold, /*only_to_ps=*/true},
    {kResetWorker, kNetwork, kTaskLost, "reset all connections of $0", 1, kClose, kClose},
    {kDelayWorker, kNetwork, kNone, "0.2 s of delay in each direction for $0", kLastingSeconds,
     kDelay, kDelay},
    {kSlowPs, kNetwork, kNone, "200 KB/s for each connection of $0", kLastingSeconds, kSlow, kSlow},
    {kCorruptWorker, kNetwork, kNone, "invert bits in the connections of $0", kLastingSeconds,
     kCorrupt, kCorrupt},
    {kCorruptPs, kNetwork, kNone, "invert bits in the connections of $0", kLastingSeconds, kCorrupt,
     kCorrupt},
    {kFullDiskPs, FaultMeans::kFileLimit, kCheckpointFailed, "the disk of $0 is full"},
    {kErrorDiskPs,
     kFailpoint,
     kCheckpointFailed,
     "writes to the disk of $0 fail",
     0,
     {},
     {},
     false,
     "snapshot.add=error@1-1000000000"},
    {kHangDiskPs,
     kFailpoint,
     kCheckpointFailed,
     "syncs of the disk of $0 hang",
     0,
     {},
     {},
     false,
     "snapshot.close=hang@1-1000000000"},
    {kSlowDiskPs,
     kFailpoint,
     kNone,
     "each write to the disk of $0 takes 0.1 s",
     kLastingSeconds,
     {},
     {},
     false,
     "snapshot.add=sleep:100@1-1000000000"},
    {kErrorDataWorker,
     kFailpoint,
     kNone,
     "reads of the data of $0 fail",
     kLastingSeconds,
     {},
     {},
     false,
     "worker.read_batch=error@1-1000000000"},
    {kHangDataWorker,
     kFailpoint,
     FaultSign::kStuck,
     "reads of the data of $0 hang",
     kHangingSeconds,
     {},
     {},
     false,
     "worker.read_batch=hang@1-1000000000"},
    {kFullDiskCoordinator, FaultMeans::kFileLimit, kTaskLost, "the disk of $0 is full"},
    {kErrorDiskCoordinator,
     kFailpoint,
     kTaskLost,
     "syncs of the disk of $0 fail",
     0,
     {},
     {},
     false,
     "journal.sync=error@1-1000000000"},
    {kHangDiskCoordinator,
     kFailpoint,
     kTaskLost,
     "syncs of the disk of $0 hang",
     kHangingSeconds,
     {},
     {},
     false,
     "journal.sync=hang@1-1000000000"},
    {kSlowDiskCoordinator,
     kFailpoint,
     kNone,
     "each sync of the disk of $0 takes 0.3 s",
     kLastingSeconds,
     {},
     {},
     false,
     "journal.sync=sleep:300@1-1000000000"},
};

std::string TaskText(const Fault& fault) {
  if (IsOfWorker(fault.kind) || (IsOfPs(fault.kind) && fault.is_of_holder)) {
    return absl::StrCat("worker ", fault.index);
  }
  if (IsOfPs(fault.kind)) return absl::StrCat("ps ", fault.index);
  return fault.kind == FaultKind::kKillAll ? "all processes" : "the coordinator";
}

}  // namespace

const FaultTraits& TraitsOf(FaultKind kind) {
  return *std::find_if(std::begin(kTraits), std::end(kTraits),
                       [kind](const FaultTraits& traits) { return traits.kind == kind; });
}

const std::vector<DrillPlan>& DrillPlans() {
  static const auto* const all = [] {
    auto* const kinds = new std::vector<FaultKind>();
    for (const FaultTraits& traits : kTraits) kinds->push_back(traits.kind);
    return kinds;
  }();
  static const auto* const plans = new std::vector<DrillPlan>{
      {"workers", "kills workers", {kKillWorker}, 4},
      {"ps", "kills parameter servers", {kKillPs}, 3},
      {"coordinator", "kills the coordinator", {kKillCoordinator}, 3},
      {"everything", "kills all processes at the same time", {kKillAll}, 2},
      {"hangs",
       "stops workers and ps past their leases, then continues them; lets reads of workers hang",
       {kHangWorker, kHangPs, kHangDataWorker},
       6},
      {"partitions",
       "cuts workers and ps off in both directions or in one; resets, delays and slows down their "
       "connections; inverts bits in them",
       {kCutOffWorker, kCutOffPs, kMuteWorker, kDeafPs, kCutWorkerFromPs, kResetWorker,
        kDelayWorker, kSlowPs, kCorruptWorker, kCorruptPs},
       10},
      {"disk",
       "lets the disks of ps and of the coordinator be full, fail, hang or be slow; lets reads of "
       "workers fail or hang",
       {kFullDiskPs, kErrorDiskPs, kHangDiskPs, kSlowDiskPs, kErrorDataWorker, kHangDataWorker,
        kFullDiskCoordinator, kErrorDiskCoordinator, kHangDiskCoordinator, kSlowDiskCoordinator},
       10},
      {"soak", "all of these faults, for 10 minutes or --duration", *all,
       static_cast<int>(all->size()), true},
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
  return absl::InvalidArgumentError(
      absl::StrCat("--plan: there is no plan ", name, DidYouMean(name, names), "; plans: ", known));
}

Fault PlannedFault(const DrillPlan& plan, uint64_t seed, int number, int ps, int workers) {
  const int kinds = static_cast<int>(plan.kinds.size());
  const uint64_t round_key = DeriveKey(DeriveKey(seed, "kinds"), number / kinds);
  const uint64_t key = DeriveKey(DeriveKey(seed, "fault"), number);
  Fault fault;
  fault.kind = ShuffledKinds(plan.kinds, round_key)[number % kinds];
  fault.is_of_holder = ps == 0;
  const int tasks = IsOfWorker(fault.kind) ? workers
                    : IsOfPs(fault.kind)   ? HoldersOf(ps, workers)
                                           : 1;
  // No network is between worker 0 and the parameters in its own process.
  const bool not_worker_0 = fault.kind == FaultKind::kCutWorkerFromPs && fault.is_of_holder;
  fault.index = not_worker_0 ? 1 + static_cast<int>(RandomBelow(key, kDrawIndex, tasks - 1))
                             : static_cast<int>(RandomBelow(key, kDrawIndex, tasks));
  fault.delay_seconds = kDelayMin + (kDelayMax - kDelayMin) * RandomUniform(key, kDrawDelay);
  return fault;
}

absl::Status CheckPlanFits(const DrillPlan& plan, int ps, int workers) {
  if (ps > 0 || workers > 1 || !UsesMeans(plan, FaultMeans::kNetwork)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--plan: ", plan.name,
      " disturbs the network between workers, and this cluster has 1 worker; use --workers 2"));
}

bool IsLasting(FaultKind kind) { return TraitsOf(kind).means != FaultMeans::kKill; }

bool UsesMeans(const DrillPlan& plan, FaultMeans means) {
  return std::any_of(plan.kinds.begin(), plan.kinds.end(),
                     [means](FaultKind kind) { return TraitsOf(kind).means == means; });
}

std::optional<double> RecoveryGoal(const Fault& fault, double gigabytes) {
  switch (fault.kind) {
    case FaultKind::kKillWorker:
      return fault.is_of_holder ? 6 + gigabytes : 5;
    case FaultKind::kKillCoordinator:
      return 5;
    case FaultKind::kKillPs:
      return 6 + gigabytes;
    case FaultKind::kKillAll:
      return 15;
    default:
      return std::nullopt;
  }
}

std::string FaultText(const Fault& fault) {
  return absl::Substitute(TraitsOf(fault.kind).text, TaskText(fault));
}

std::vector<std::string> TasksOf(const Fault& fault, int ps, int workers) {
  if (IsOfWorker(fault.kind) || (IsOfPs(fault.kind) && fault.is_of_holder)) {
    return {absl::StrCat("worker-", fault.index)};
  }
  if (IsOfPs(fault.kind)) return {absl::StrCat("ps-", fault.index)};
  std::vector<std::string> tasks = {"coordinator"};
  if (fault.kind != FaultKind::kKillAll) return tasks;
  for (int i = 0; i < ps; ++i) tasks.push_back(absl::StrCat("ps-", i));
  for (int i = 0; i < workers; ++i) tasks.push_back(absl::StrCat("worker-", i));
  return tasks;
}

}  // namespace cairn::cli
