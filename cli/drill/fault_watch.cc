#include "cli/drill/fault_watch.h"

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

bool IsNoticed(const Fault& fault, const proto::ClusterStatus& before,
               const std::optional<proto::ClusterStatus>& now) {
  if (fault.kind == FaultKind::kKillCoordinator || fault.kind == FaultKind::kKillAll) {
    return !now || now->term() != before.term();
  }
  if (!now) return false;
  const bool is_ps = fault.kind == FaultKind::kKillPs || fault.kind == FaultKind::kHangPs;
  const proto::Role role = is_ps ? proto::PS : proto::WORKER;
  const proto::Member* const was = FindMember(before, role, fault.index);
  const proto::Member* const is = FindMember(*now, role, fault.index);
  // A killed task may have joined again between two looks.
  return is == nullptr || !is->live() ||
         (was != nullptr && is->incarnation() != was->incarnation());
}

}  // namespace cairn::cli
