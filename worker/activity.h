#ifndef CAIRN_WORKER_ACTIVITY_H_
#define CAIRN_WORKER_ACTIVITY_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"

namespace cairn::worker {

// What the trainer's thread is doing, and for how long it has not got any further. Heartbeats carry
// it to the coordinator, which gives the batches of a worker that hangs to others: a process whose
// trainer waits for a dead disk still sends heartbeats.
//
// A thread gets further when it enters a phase, and when the process has read from a data file.
// Thread-safe.
class Activity {
 public:
  // `clock` must outlive this object.
  explicit Activity(const Clock* clock) : clock_(*clock), progress_at_(clock->Now()) {}

  // `batch`: -1 if the phase does not belong to one.
  void Enter(proto::Activity::Phase phase, int64_t batch = -1);

  // Call it at least once a second: progress between two calls counts as made at the second one.
  proto::Activity Report();

 private:
  const Clock& clock_;
  Mutex mutex_;
  proto::Activity::Phase phase_ ABSL_GUARDED_BY(mutex_) = proto::Activity::IDLE;
  int64_t batch_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Duration progress_at_ ABSL_GUARDED_BY(mutex_);
  uint64_t reads_ ABSL_GUARDED_BY(mutex_) = 0;  // FileReads() at the last progress.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_ACTIVITY_H_
