#ifndef CAIRN_COORDINATOR_JOB_FOLLOWERS_H_
#define CAIRN_COORDINATOR_JOB_FOLLOWERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/event_time.h"
#include "coordinator/scheduler.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Receives the status of one job as it changes.
class StatusSink {
 public:
  virtual ~StatusSink() = default;
  // False: the receiver is gone. Does not block.
  virtual bool alive() const = 0;
  // Replaces a status that is not sent yet. Does not block. False: the receiver is gone.
  virtual bool Show(const proto::JobStatus& status) = 0;
  // Ends the stream after the last status.
  virtual void End(const absl::Status& status) = 0;
};

// The followers of jobs. Each gets the status when it begins, at most every 200 ms if it changed,
// at once when the job's state changes, and a last time when the job is over. Owned by the control
// loop; not thread-safe.
class JobFollowers {
 public:
  void Add(uint64_t job_id, std::shared_ptr<StatusSink> sink);
  // Call on every tick.
  void Update(Scheduler* scheduler, EventTime now);

 private:
  struct Follower {
    uint64_t job_id = 0;
    std::shared_ptr<StatusSink> sink;
    proto::JobStatus shown;
    absl::Duration shown_at = -absl::InfiniteDuration();
  };

  // False: the follower needs no more updates.
  static bool UpdateOne(Follower* follower, Scheduler* scheduler, EventTime now);

  std::vector<Follower> followers_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_FOLLOWERS_H_
