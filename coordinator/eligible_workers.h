#ifndef CAIRN_COORDINATOR_ELIGIBLE_WORKERS_H_
#define CAIRN_COORDINATOR_ELIGIBLE_WORKERS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/membership.h"
#include "coordinator/task.h"

namespace cairn::coordinator {

// The live workers that can do a job: all but those that reported that they cannot. A worker whose
// error was transient is tried again after a pause, which doubles from 1 s to 1 min; after kTries
// such errors without a batch in between it counts as unable. Not thread-safe.
class EligibleWorkers {
 public:
  static constexpr int kTries = 10;

  // How long a worker with so many transient errors does nothing; infinite: it is unable.
  static absl::Duration PauseAfter(int errors);

  // `members` must outlive this object. `devices`: only workers with one of these compute ("cpu":
  // with any CPU); none: all do.
  explicit EligibleWorkers(const Membership* members, std::vector<std::string> devices = {})
      : members_(*members), devices_(std::move(devices)) {}

  // Whether the job may use the worker's device. Evaluators may have any.
  bool MayUse(TaskId worker) const;

  // Eligible live workers by index, followed by evaluators if asked for.
  std::vector<TaskId> Live(bool with_evaluators) const;

  // The worker reported that it cannot do the job, for now or at all.
  void Failed(TaskId worker, const std::string& why, bool transient, absl::Duration now);
  // Returns the workers whose pause is over, once. They are eligible again.
  std::vector<TaskId> TakeRecovered(absl::Duration now);
  // The worker has done a batch: its errors count from 0 again.
  void Works(TaskId worker) { unfit_.erase(worker); }
  // A failure report expires with the worker's process.
  void Forget(TaskId worker);
  void ForgetAll();

  // The worker makes no progress, or does again. A stuck worker gets no work. Returns whether this
  // is new.
  bool SetStuck(TaskId worker, bool stuck);
  bool IsStuck(TaskId worker) const { return stuck_.contains(worker); }

  // Returns why no worker is left that could do the job, or nullopt if one may. A named worker that
  // is absent is awaited for the time of one lease.
  std::optional<std::string> WhyNoneEligible(absl::Duration now);

 private:
  struct Unfit {
    std::string why;
    int tries = 0;
    // When it is tried again; infinite: never. Past, once it is tried.
    absl::Duration until;
    bool is_tried = false;
  };

  bool SomeoneIsAway() const;

  const Membership& members_;
  const std::vector<std::string> devices_;
  std::map<TaskId, Unfit> unfit_;
  std::set<TaskId> stuck_;
  std::optional<absl::Duration> nobody_since_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_ELIGIBLE_WORKERS_H_
