#ifndef CAIRN_WORKER_COORDINATOR_PROCESS_H_
#define CAIRN_WORKER_COORDINATOR_PROCESS_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "cluster/child_process.h"
#include "common/mutex.h"

namespace cairn::worker {

// The coordinator of a cluster without chief, which worker 0 starts beside itself. It is started
// again, with growing pauses, when it ends with 0 or 128 or more: its journal has every decision.
// The kernel kills it when this process dies.
class CoordinatorProcess {
 public:
  // `failed` is called once, on another thread, if the coordinator cannot run: the reason.
  CoordinatorProcess(cluster::ChildOptions options,
                     std::function<void(const std::string& reason)> failed);
  // Stops it and waits.
  ~CoordinatorProcess();
  CoordinatorProcess(const CoordinatorProcess&) = delete;
  CoordinatorProcess& operator=(const CoordinatorProcess&) = delete;

  // Sends SIGTERM: it takes the last checkpoint and ends. Does not wait. Thread-safe.
  void Stop();
  // Returns when it has ended; kills it after `limit`. Call Stop first.
  void Wait(absl::Duration limit);

 private:
  // A child ends with the thread that started it, so one thread starts all of them.
  void Run();
  // Returns its exit code.
  int RunOnce();

  const cluster::ChildOptions options_;
  const std::function<void(const std::string&)> failed_;

  Mutex mutex_;
  ConditionVariable changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool killing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_COORDINATOR_PROCESS_H_
