#include "cli/drill/fault_injector.h"

#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/files.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

// A drill is not to wait a minute for each file that hangs.
constexpr char kProgressTimeout[] = "5";

void LimitFiles(int64_t pid, bool is_on) {
  rlimit limit = {};
  if (prlimit(static_cast<pid_t>(pid), RLIMIT_FSIZE, nullptr, &limit) != 0) return;
  limit.rlim_cur = is_on ? 0 : limit.rlim_max;
  prlimit(static_cast<pid_t>(pid), RLIMIT_FSIZE, &limit, nullptr);
}

int64_t SizeOf(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? 0 : static_cast<int64_t>(size);
}

}  // namespace

FaultInjector::FaultInjector(const DrillPlan& plan, std::string state)
    : disturbs_network_(UsesMeans(plan, FaultMeans::kNetwork)),
      disturbs_files_(UsesMeans(plan, FaultMeans::kFileLimit) ||
                      UsesMeans(plan, FaultMeans::kFailpoint)),
      has_failpoints_(UsesMeans(plan, FaultMeans::kFailpoint)),
      state_(std::move(state)) {
  if (disturbs_network_) proxy_ = std::make_unique<FaultProxy>();
}

absl::StatusOr<std::vector<std::string>> FaultInjector::FlagsOf(const std::string& task,
                                                                const ClusterFile& cluster) {
  const bool is_coordinator = task == "coordinator";
  std::vector<std::string> flags;
  if (disturbs_network_ || has_failpoints_) flags.push_back("--unsafe_testing");
  if (disturbs_files_ && is_coordinator) {
    flags.insert(flags.end(), {"--progress_timeout", kProgressTimeout});
  }
  if (has_failpoints_) {
    flags.insert(flags.end(), {"--failpoint_file", FailpointFile(task)});
  }
  if (!disturbs_network_ || is_coordinator) return flags;
  std::vector<std::pair<std::string, std::string>> targets = {{"coordinator", cluster.coordinator}};
  const bool has_ps = !cluster.ps.empty();
  const std::vector<std::string>& holders = has_ps ? cluster.ps : cluster.workers;
  for (size_t i = 0; i < holders.size(); ++i) {
    targets.emplace_back(absl::StrCat(has_ps ? "ps-" : "worker-", i), holders[i]);
  }
  for (const auto& [target, address] : targets) {
    if (target == task) continue;
    CAIRN_ASSIGN_OR_RETURN(const std::string route, AddRoute(task, target, address));
    flags.insert(flags.end(), {"--route", route});
  }
  return flags;
}

absl::StatusOr<std::string> FaultInjector::AddRoute(const std::string& source,
                                                    const std::string& target,
                                                    const std::string& address) {
  CAIRN_ASSIGN_OR_RETURN(const FaultProxy::Link link, proxy_->AddLink(address));
  links_.push_back({source, target, link.id});
  return absl::StrCat(address, "=", link.address);
}

bool FaultInjector::Begin(const Fault& fault, const std::vector<std::string>& tasks,
                          LocalCluster* cluster) {
  const FaultTraits& traits = TraitsOf(fault.kind);
  if (proxy_ != nullptr) proxy_effects_ = proxy_->effects();
  log_bytes_ = SizeOf(LogFile(tasks.front()));
  switch (traits.means) {
    case FaultMeans::kKill:
      return cluster->Disturb(tasks, [](int64_t pid) { kill(static_cast<pid_t>(pid), SIGKILL); });
    case FaultMeans::kStop:
      return cluster->Disturb(tasks, [](int64_t pid) { kill(static_cast<pid_t>(pid), SIGSTOP); });
    case FaultMeans::kFileLimit:
      return cluster->Disturb(tasks, [](int64_t pid) { LimitFiles(pid, true); });
    case FaultMeans::kNetwork:
      SetNetwork(fault, tasks.front(), true);
      return true;
    case FaultMeans::kFailpoint:
      return WriteFile(FailpointFile(tasks.front()), absl::StrCat(traits.failpoint, "\n")).ok();
  }
  return false;
}

void FaultInjector::End(const Fault& fault, const std::vector<std::string>& tasks,
                        LocalCluster* cluster) {
  switch (TraitsOf(fault.kind).means) {
    case FaultMeans::kKill:
      break;
    case FaultMeans::kStop:
      cluster->Disturb(tasks, [](int64_t pid) { kill(static_cast<pid_t>(pid), SIGCONT); });
      break;
    case FaultMeans::kFileLimit:
      cluster->Disturb(tasks, [](int64_t pid) { LimitFiles(pid, false); });
      break;
    case FaultMeans::kNetwork:
      SetNetwork(fault, tasks.front(), false);
      break;
    case FaultMeans::kFailpoint: {
      std::error_code error;
      std::filesystem::remove(FailpointFile(tasks.front()), error);
      break;
    }
  }
}

void FaultInjector::SetNetwork(const Fault& fault, const std::string& task, bool is_on) {
  const FaultTraits& traits = TraitsOf(fault.kind);
  const LinkFault sent = is_on ? traits.sent : LinkFault();
  const LinkFault received = is_on ? traits.received : LinkFault();
  for (const Link& link : links_) {
    if (traits.only_to_ps && link.target != (fault.is_of_holder ? "worker-0" : "ps-0")) continue;
    if (link.source == task) proxy_->SetFault(link.id, sent, received);
    if (link.target == task) proxy_->SetFault(link.id, received, sent);
  }
}

int64_t FaultInjector::CountEffects(const Fault& fault,
                                    const std::vector<std::string>& tasks) const {
  const FaultTraits& traits = TraitsOf(fault.kind);
  if (traits.means == FaultMeans::kNetwork) return proxy_->effects() - proxy_effects_;
  if (traits.means != FaultMeans::kFailpoint) return 0;
  const std::vector<std::string> parts = absl::StrSplit(traits.failpoint, '=');
  const std::string wanted = absl::StrCat("failpoint name=", parts.front(), " ");
  std::ifstream log(LogFile(tasks.front()));
  log.seekg(log_bytes_);
  int64_t count = 0;
  for (std::string line; std::getline(log, line);) count += absl::StrContains(line, wanted) ? 1 : 0;
  return count;
}

std::string FaultInjector::FailpointFile(const std::string& task) const {
  return absl::StrCat(state_, "/failpoints-", task);
}

std::string FaultInjector::LogFile(const std::string& task) const {
  return absl::StrCat(state_, "/logs/", task, ".log");
}

}  // namespace cairn::cli
