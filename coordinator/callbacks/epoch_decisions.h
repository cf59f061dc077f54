#ifndef CAIRN_COORDINATOR_CALLBACKS_EPOCH_DECISIONS_H_
#define CAIRN_COORDINATOR_CALLBACKS_EPOCH_DECISIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/callbacks/create_callbacks.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// The decisions of a job's callbacks about its epochs. A pure function of the epochs' records in
// order: a restarted coordinator or a rolled-back job replays them and reaches the same state. Not
// thread-safe.
class EpochDecisions {
 public:
  struct Outcome {
    bool stop = false;
    std::optional<float> learning_rate;  // From the next epoch on, if it changed.
    std::vector<std::string> notes;
  };
  // The best epoch of one of the callbacks.
  struct Best {
    uint32_t callback = 0;  // Its place in Job.callbacks.
    std::string monitor;
    BestEpoch epoch;
  };

  // `job` is validated and must outlive this.
  static absl::StatusOr<EpochDecisions> Create(const proto::Job& job);

  // Takes the record of the next epoch. `learning_rate`: that of its last batch; 0 if a schedule
  // sets it.
  Outcome Take(const proto::EpochRecord& record, float learning_rate);

  // The number of epochs taken.
  int64_t epochs() const { return epochs_; }
  // Whether any callback runs at the end of epochs.
  bool any() const { return !callbacks_.monitoring.empty() || !callbacks_.csv_loggers.empty(); }
  // Whether an epoch must wait until the previous one is taken.
  bool changes_training() const;
  bool terminates_on_nan() const { return callbacks_.terminate_on_nan; }
  // In the job's order.
  std::vector<CsvLogger>& csv_loggers() { return callbacks_.csv_loggers; }
  // One entry for each callback that tracks a best epoch.
  std::vector<Best> bests() const;

 private:
  EpochDecisions(const proto::Job& job, JobCallbacks callbacks)
      : job_(&job), callbacks_(std::move(callbacks)) {}

  double Value(const std::string& monitor, const proto::EpochRecord& record) const;

  const proto::Job* job_;
  JobCallbacks callbacks_;
  int64_t epochs_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_EPOCH_DECISIONS_H_
