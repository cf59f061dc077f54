#ifndef CAIRN_CLI_DRILL_DRILL_TRAINING_H_
#define CAIRN_CLI_DRILL_DRILL_TRAINING_H_

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/coordinator_api.h"
#include "cli/drill/fault_watch.h"
#include "cli/drill/verdict.h"
#include "cli/interrupts.h"
#include "cli/local/local_cluster.h"
#include "cli/local/state_lock.h"
#include "cli/submission.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

// What a finished job has left in its state directory.
struct TrainedValues {
  std::vector<std::string> names;
  std::vector<std::vector<float>> values;  // For each name.
  int64_t first_batch = 0;                 // The first one in the history.
  std::vector<double> losses;              // Of the batches from there on.
};

// One job on one local cluster, from its start to its end. All times are seconds since the job was
// accepted. Not thread-safe.
//
//   DrillTraining training(options, &interrupts);
//   CAIRN_RETURN_IF_ERROR(training.Start(submission));
//   while (!training.has_ended()) CAIRN_RETURN_IF_ERROR(training.Look());
//   TrainingResult result = training.Finish(&values);
class DrillTraining {
 public:
  // `interrupts` must outlive it.
  DrillTraining(LocalClusterOptions options, const Interrupts* interrupts)
      : options_(std::move(options)), interrupts_(interrupts) {}
  DrillTraining(const DrillTraining&) = delete;
  DrillTraining& operator=(const DrillTraining&) = delete;

  // Starts the cluster and submits the job when all tasks are live, because the plan of a
  // synchronous job may depend on the number of workers.
  absl::Status Start(const Submission& submission);

  // Waits a moment, then asks the cluster for its state. Cancelled: the user has interrupted.
  // DeadlineExceeded: the job has made no progress for minutes. Others: a daemon cannot run, or the
  // data of the job are wrong.
  absl::Status Look();

  double seconds() const { return seconds_; }
  // nullopt: the coordinator did not answer.
  const std::optional<proto::ClusterStatus>& cluster() const { return cluster_status_; }
  const proto::JobStatus& job() const { return job_; }
  const std::vector<ProgressPoint>& progress() const { return progress_; }
  bool has_ended() const;
  // The job trains, and all tasks are live.
  bool is_whole() const;

  DrillState state() const { return {cluster_status_, job_}; }
  LocalCluster* local_cluster() { return cluster_.get(); }

  // Asks for a checkpoint, and does not wait for it. Does nothing while the last one is awaited.
  void RequestCheckpoint();

  // Stops the cluster. Reads the result of a finished job from the disk; a result that cannot be
  // read counts as not finished.
  TrainingResult Finish(TrainedValues* values);

 private:
  absl::Status CheckGoingOn() const;
  absl::Status WaitForTasks();
  bool AllTasksLive() const;
  absl::Status ReadResult(TrainingResult* result, TrainedValues* values) const;

  const LocalClusterOptions options_;
  const Interrupts* const interrupts_;
  std::unique_ptr<StateLock> lock_;
  std::unique_ptr<LocalCluster> cluster_;
  std::unique_ptr<CoordinatorApi> api_;
  std::string job_id_;
  absl::Duration begin_;
  double seconds_ = 0;
  proto::JobStatus job_;
  std::optional<proto::ClusterStatus> cluster_status_;
  std::vector<ProgressPoint> progress_;
  std::future<void> checkpoint_;  // Valid after the first request.
  int64_t batches_max_ = 0;       // The highest number of batches done so far,
  double batches_max_at_ = 0;     // reached at this time.
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_DRILL_TRAINING_H_
