#ifndef CAIRN_COORDINATOR_FIT_WORKERS_H_
#define CAIRN_COORDINATOR_FIT_WORKERS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/membership.h"
#include "coordinator/task.h"

namespace cairn::coordinator {

// Which live workers can do a job, as far as they have not said otherwise. Not thread-safe.
class FitWorkers {
 public:
  // The members outlive this.
  explicit FitWorkers(const Membership* members) : members_(*members) {}

  // Live workers, in order of their index; evaluators after them if asked for.
  std::vector<TaskId> Live(bool with_evaluators) const;

  // The worker says that it cannot do the job at all.
  void Failed(TaskId worker, const std::string& why) { unfit_[worker] = why; }
  // What a worker said holds as long as its process does.
  void Forget(TaskId worker) { unfit_.erase(worker); }
  void ForgetAll() { unfit_.clear(); }

  // Why nobody is left who could do the job. A named worker that is only away is waited for, for
  // the time of a lease. nullopt: somebody may.
  std::optional<std::string> WhyNobody(absl::Duration now);

 private:
  bool SomeoneIsAway() const;

  const Membership& members_;
  std::map<TaskId, std::string> unfit_;
  std::optional<absl::Duration> nobody_since_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_FIT_WORKERS_H_
