#include "cli/local/cluster_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/interrupts.h"
#include "cli/local/state_lock.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

// Set once, by a signal or a failure.
class Event {
 public:
  void Set() {
    MutexLock lock(&mutex_);
    is_set_ = true;
    changed_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(&mutex_);
    while (!is_set_) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  bool is_set_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::StatusOr<int> ServeCluster(LocalClusterOptions options,
                                 const std::function<void(const std::string&)>& say) {
  CAIRN_ASSIGN_OR_RETURN(const auto lock, StateLock::Take(options.state, "cairn up"));
  Event over;
  // Before the cluster creates threads.
  const Interrupts interrupts([&over] { over.Set(); });
  options.on_event = say;
  options.on_failure = [&over] { over.Set(); };
  const std::string tasks = TasksText(options.ps, options.workers, options.evaluators);
  CAIRN_ASSIGN_OR_RETURN(const auto cluster, LocalCluster::Start(std::move(options)));
  say(absl::StrCat("started ", tasks, "; coordinator at ", cluster->coordinator_address()));
  over.Wait();

  const absl::Status failure = cluster->failure();
  if (!failure.ok()) say(std::string(failure.message()));
  say("stopping after a checkpoint of the running job");
  // After a failure too: the other daemons still run, and a checkpoint may still be possible.
  CoordinatorApi api(cluster->coordinator_address(), absl::Seconds(5),
                     CoordinatorApi::WhenRefused::kWait);
  const auto checkpoint = CheckpointBeforeStop(&api);
  if (!checkpoint.ok()) {
    say(absl::StrCat("no checkpoint: ", std::string(checkpoint.status().message())));
  } else if (!checkpoint->empty()) {
    say(*checkpoint);
  }
  cluster->Stop(kStopGrace);
  if (!failure.ok()) return failure;
  say("stopped");
  return interrupts.exit_code();
}

absl::StatusOr<std::string> CheckpointBeforeStop(CoordinatorApi* api) {
  CAIRN_ASSIGN_OR_RETURN(const proto::PrepareStopReply reply,
                         api->PrepareStop(kStopCheckpointTimeout));
  const proto::Manifest& manifest = reply.manifest();
  if (manifest.checkpoint() == 0) return "";
  return absl::StrCat("checkpoint ", manifest.checkpoint(), " of job ", manifest.job_id(),
                      " holds ", manifest.applied_batches(), " batches");
}

}  // namespace cairn::cli
