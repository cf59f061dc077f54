#include "coordinator/recovery/buffered_reports.h"

namespace cairn::coordinator {
namespace {

int64_t BatchesIn(const proto::WorkReport& report) {
  return report.batches_size() + report.evaluated_size();
}

}  // namespace

void BufferedReports::Keep(TaskId worker, const proto::WorkReport& report) {
  const int64_t batches = BatchesIn(report);
  if (batches == 0 || batches_ + batches > kBatchesMax) return;
  batches_ += batches;
  reports_.emplace_back(worker, report);
}

void BufferedReports::Forget(TaskId worker) {
  std::erase_if(reports_, [&](const auto& entry) {
    const bool is_its = entry.first == worker;
    if (is_its) batches_ -= BatchesIn(entry.second);
    return is_its;
  });
}

std::vector<std::pair<TaskId, proto::WorkReport>> BufferedReports::TakeAll() {
  batches_ = 0;
  return std::exchange(reports_, {});
}

}  // namespace cairn::coordinator
