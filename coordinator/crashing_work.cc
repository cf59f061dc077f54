#include "coordinator/crashing_work.h"

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
  Ends& ends = ends_[node.mapped().work];
  if (++ends.count == 1) ends.first = now;
  ends.workers.insert(worker);
  if (ends.count < kEndsMax || now - ends.first < patience_) return;
  if (others_work && ends.workers.size() == 1) return;
  const std::string names = absl::StrJoin(
      ends.workers, ", ", [](std::string* out, TaskId task) { out->append(task.Name()); });
  failure_ = absl::StrCat(ends.count, " processes of workers (", names, ") ended while they had ",
                          node.mapped().work,
                          ", which nobody has done; the last lines of their logs may say why");
}

}  // namespace cairn::coordinator
