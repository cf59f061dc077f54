#ifndef CAIRN_COORDINATOR_CRASHING_WORK_H_
#define CAIRN_COORDINATOR_CRASHING_WORK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "coordinator/task.h"

namespace cairn::coordinator {

// Detects work that ends the process of every worker which gets it: a batch that makes a worker
// crash, a model that does not fit into its memory. Without an end, such a job would keep the jobs
// behind it waiting. A network that breaks, or a machine that does not come back, ends no process,
// as far as anybody knows: only a new process in the place of the old one is proof. Not
// thread-safe.
class CrashingWork {
 public:
  // The job fails after so many ended processes, and not before the patience is over, if the work
  // was not done meanwhile. Someone who kills a worker again and again stops before that.
  static constexpr int kEndsMax = 10;
  // Those that ended a process most recently. In months, workers end with any number of others.
  static constexpr size_t kWorksMax = 256;

  explicit CrashingWork(absl::Duration patience) : patience_(patience) {}

  // The stream of process `instance_id` broke while it had this work: "batch 4 of epoch 2 and later
  // ones". Empty: it had none.
  void Gone(TaskId worker, uint64_t instance_id, const std::string& work);
  // A process joined. `others_work`: other workers are alive that may do the work. Then one worker
  // alone that crashes again and again is no proof against the work.
  void Joined(TaskId worker, uint64_t instance_id, bool others_work, absl::Duration now);
  // The work is done.
  void Done(const std::string& work) { ends_.erase(work); }

  // Why the job must fail; empty if it may go on.
  const std::string& failure() const { return failure_; }

 private:
  struct Suspect {
    uint64_t instance_id = 0;
    std::string work;
  };
  struct Ends {
    int count = 0;
    absl::Duration first;
    absl::Duration last;
    std::set<TaskId> workers;
  };

  Ends& EndsOf(const std::string& work, absl::Duration now);

  absl::Duration patience_;
  std::map<TaskId, Suspect> gone_;
  std::map<std::string, Ends> ends_;  // By work.
  std::string failure_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CRASHING_WORK_H_
