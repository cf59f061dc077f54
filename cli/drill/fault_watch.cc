#include "cli/drill/fault_watch.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace cairn::cli {
namespace {

const proto::Member* FindMember(const proto::ClusterStatus& cluster, proto::Role role, int index) {
  for (const proto::Member& member : cluster.members()) {
    if (member.role() == role && static_cast<int>(member.index()) == index) return &member;
  }
  return nullptr;
}

}  // namespace

std::optional<double> BatchRate(const std::vector<ProgressPoint>& progress, double since,
                                double window) {
  if (progress.empty()) return std::nullopt;
  const ProgressPoint& last = progress.back();
  for (auto point = progress.rbegin(); point != progress.rend(); ++point) {
    if (point->seconds < since) return std::nullopt;
    if (last.seconds - point->seconds < window) continue;
    return static_cast<double>(last.batches - point->batches) / (last.seconds - point->seconds);
  }
  return std::nullopt;
}

std::optional<Throughput> MeasureThroughput(const std::vector<ProgressPoint>& progress,
                                            double first_fault) {
  // Without the time until the first batch is done.
  const auto begin = std::find_if(progress.begin(), progress.end(),
                                  [](const ProgressPoint& point) { return point.batches > 0; });
  const auto middle = std::find_if(begin, progress.end(), [&](const ProgressPoint& point) {
    return point.seconds >= first_fault;
  });
  if (middle == progress.end()) return std::nullopt;
  const auto rate = [](const ProgressPoint& from, const ProgressPoint& to) {
    // Negative if a rollback has cost more than was done.
    const int64_t done = std::max<int64_t>(0, to.batches - from.batches);
    return static_cast<double>(done) / (to.seconds - from.seconds);
  };
  if (middle->seconds <= begin->seconds || progress.back().seconds <= middle->seconds) {
    return std::nullopt;
  }
  return Throughput{rate(*begin, *middle), rate(*middle, progress.back())};
}

bool IsNoticed(const Fault& fault, const DrillState& before, const DrillState& now) {
  const FaultSign sign = TraitsOf(fault.kind).sign;
  if (sign == FaultSign::kNone) return false;
  if (sign == FaultSign::kCheckpointFailed) {
    return now.job.checkpoints_failed() > before.job.checkpoints_failed();
  }
  const std::string task = TasksOf(fault, 0, 0).front();
  if (task == "coordinator") {
    return !now.cluster || now.cluster->term() != before.cluster->term();
  }
  if (!now.cluster) return false;
  const proto::Role role = task.starts_with("ps-") ? proto::PS : proto::WORKER;
  const proto::Member* const was = FindMember(*before.cluster, role, fault.index);
  const proto::Member* const is = FindMember(*now.cluster, role, fault.index);
  if (sign == FaultSign::kStuck) {
    return is != nullptr && absl::StartsWith(is->activity(), "stuck");
  }
  // A killed task may have joined again between two looks.
  return is == nullptr || !is->live() ||
         (was != nullptr && is->incarnation() != was->incarnation());
}

}  // namespace cairn::cli
