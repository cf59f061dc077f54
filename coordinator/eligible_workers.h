#ifndef CAIRN_COORDINATOR_ELIGIBLE_WORKERS_H_
#define CAIRN_COORDINATOR_ELIGIBLE_WORKERS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/membership.h"
#include "coordinator/task.h"

namespace cairn::coordinator {

// The live workers that can do a job: all but those that reported that they cannot. Not
// thread-safe.
class EligibleWorkers {
 public:
  // `members` must outlive this object.
  explicit EligibleWorkers(const Membership* members) : members_(*members) {}

  // Eligible live workers by index, followed by evaluators if asked for.
  std::vector<TaskId> Live(bool with_evaluators) const;

  // The worker reported that it cannot do the job at all.
  void Failed(TaskId worker, const std::string& why) { unfit_[worker] = why; }
  // A failure report expires with the worker's process.
  void Forget(TaskId worker) { unfit_.erase(worker); }
  void ForgetAll() { unfit_.clear(); }

  // Returns why no worker is left that could do the job, or nullopt if one may. A named worker that
  // is absent is awaited for the time of one lease.
  std::optional<std::string> WhyNoneEligible(absl::Duration now);

 private:
  bool SomeoneIsAway() const;

  const Membership& members_;
  std::map<TaskId, std::string> unfit_;
  std::optional<absl::Duration> nobody_since_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_ELIGIBLE_WORKERS_H_
