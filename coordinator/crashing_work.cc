#include "coordinator/crashing_work.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cairn::coordinator {

void CrashingWork::Gone(TaskId worker, uint64_t instance_id, const std::string& work) {
  if (!work.empty()) gone_[worker] = {instance_id, work};
}

void CrashingWork::Joined(TaskId worker, uint64_t instance_id, bool others_work,
                          absl::Duration now) {
  const auto node = gone_.extract(worker);
  if (node.empty() || node.mapped().instance_id == instance_id) return;
  Ends& ends = EndsOf(node.mapped().work, now);
  ++ends.count;
  ends.last = now;
  ends.workers.insert(worker);
  if (ends.count < kEndsMax || now - ends.first < patience_) return;
  if (others_work && ends.workers.size() == 1) return;
  const std::string names = absl::StrJoin(
      ends.workers, ", ", [](std::string* out, TaskId task) { out->append(task.Name()); });
  failure_ = absl::StrCat(ends.count, " processes of workers (", names, ") ended while they had ",
                          node.mapped().work,
                          ", which nobody has done; the last lines of their logs may say why");
}

CrashingWork::Ends& CrashingWork::EndsOf(const std::string& work, absl::Duration now) {
  if (ends_.size() >= kWorksMax && !ends_.contains(work)) {
    ends_.erase(absl::c_min_element(
        ends_, [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  }
  const auto [entry, is_new] = ends_.try_emplace(work);
  if (is_new) entry->second.first = entry->second.last = now;
  return entry->second;
}

}  // namespace cairn::coordinator
