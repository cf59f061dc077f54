#ifndef CAIRN_COORDINATOR_TRAINING_PROFILE_SESSION_H_
#define CAIRN_COORDINATOR_TRAINING_PROFILE_SESSION_H_

#include <cstdint>
#include <map>
#include <set>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/outbox.h"
#include "coordinator/task.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

using ProfileCallback = absl::AnyInvocable<void(absl::StatusOr<proto::ProfileReply>)>;

// One profile of a job. Workers and ps measure until every worker has done its steps, has left, or
// the deadline has passed. Then the tasks that have not replied are asked for what they have. Pure
// state machine, not thread-safe.
class ProfileSession {
 public:
  struct Options {
    uint64_t id = 0;
    uint64_t job_id = 0;
    int64_t steps = 50;
    absl::Duration deadline;  // On the same clock as `now` of Advance.
  };

  // `callback` runs once, through an Outbox.
  ProfileSession(const Options& options, ProfileCallback callback)
      : options_(options), callback_(std::move(callback)) {}

  void Begin(const std::set<TaskId>& workers, uint32_t ps_count, Outbox* outbox);
  void Reply(TaskId task, const proto::ProfileReport& report);
  void Gone(TaskId task) { asked_.erase(task); }

  void Advance(absl::Duration now, Outbox* outbox);
  bool over() const { return callback_ == nullptr; }
  // The training is over: answers with the reports so far, or with `why` if there are none.
  void Abandon(const absl::Status& why, Outbox* outbox);

 private:
  proto::Command CommandFor(int64_t steps) const;
  bool WorkersAreDone() const;
  bool AllAreDone() const;
  void Answer(absl::StatusOr<proto::ProfileReply> reply, Outbox* outbox);
  proto::ProfileReply Collected() const;

  Options options_;
  ProfileCallback callback_;  // Null once answered.
  std::set<TaskId> asked_;
  std::map<TaskId, proto::ProfileReport> reports_;
  // When the remaining tasks were asked for what they have.
  absl::Duration stopped_at_ = absl::InfiniteDuration();
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_PROFILE_SESSION_H_
