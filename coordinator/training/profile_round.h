#ifndef CAIRN_COORDINATOR_TRAINING_PROFILE_ROUND_H_
#define CAIRN_COORDINATOR_TRAINING_PROFILE_ROUND_H_

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

// One profile of a job: workers and ps measure until every worker has done its steps (or is gone,
// or the time is over), then those that have not answered are asked for what they have. A pure
// machine, not thread-safe.
class ProfileRound {
 public:
  struct Options {
    uint64_t id = 0;
    uint64_t job_id = 0;
    int64_t steps = 50;
    absl::Duration deadline;  // On the clock of Advance.
  };

  // Answers once, by way of an Outbox.
  ProfileRound(const Options& options, ProfileCallback callback)
      : options_(options), callback_(std::move(callback)) {}

  void Begin(const std::set<TaskId>& workers, uint32_t ps_count, Outbox* outbox);
  void Reply(TaskId task, const proto::ProfileReport& report);
  void Gone(TaskId task) { asked_.erase(task); }

  void Advance(absl::Duration now, Outbox* outbox);
  bool over() const { return callback_ == nullptr; }
  // The training is over: answers with what there is, or with `why` if that is nothing.
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
  // When the rest was asked for what it has.
  absl::Duration stopped_at_ = absl::InfiniteDuration();
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_PROFILE_ROUND_H_
