#include "worker/activity.h"

#include "worker/data/files/read_at.h"

namespace cairn::worker {

void Activity::Enter(proto::Activity::Phase phase, int64_t batch) {
  MutexLock lock(&mutex_);
  phase_ = phase;
  batch_ = batch;
  progress_at_ = clock_.Now();
}

proto::Activity Activity::Report() {
  MutexLock lock(&mutex_);
  const absl::Duration now = clock_.Now();
  if (const uint64_t reads = FileReads(); reads != reads_) {
    reads_ = reads;
    progress_at_ = now;
  }
  proto::Activity report;
  report.set_phase(phase_);
  report.set_batch(batch_);
  report.set_milliseconds_without_progress(absl::ToInt64Milliseconds(now - progress_at_));
  return report;
}

}  // namespace cairn::worker
