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

// What a job's callbacks make of its epochs. A pure function of the epochs' records, given in
// order: a coordinator that comes back, or a job that was rolled back, gives them again and stands
// where it stood. Not thread-safe.
class EpochDecisions {
 public:
  struct Outcome {
    bool stop = false;
    std::optional<float> learning_rate;  // From the next epoch on, if it is another one.
    std::vector<std::string> notes;
  };
  // The best epoch of one of the callbacks.
  struct Best {
    uint32_t callback = 0;  // Its place in Job.callbacks.
    std::string monitor;
    BestEpoch epoch;
  };

  // `job` was validated and must outlive it. `learning_rate`: with which it begins; 0 if a schedule
  // makes it.
  static absl::StatusOr<EpochDecisions> Create(const proto::Job& job, float learning_rate);

  // The record of the next epoch.
  Outcome Take(const proto::EpochRecord& record);

  // How many were taken.
  int64_t epochs() const { return epochs_; }
  // There is a callback that looks at epochs.
  bool any() const { return !callbacks_.monitoring.empty(); }
  // An epoch may not begin before the one before it was taken.
  bool changes_training() const;
  bool sets_rate() const { return callbacks_.sets_rate; }
  bool terminates_on_nan() const { return callbacks_.terminate_on_nan; }
  float learning_rate() const { return learning_rate_; }
  // One for each callback that keeps one.
  std::vector<Best> bests() const;

 private:
  EpochDecisions(const proto::Job& job, JobCallbacks callbacks, float learning_rate)
      : job_(&job), callbacks_(std::move(callbacks)), learning_rate_(learning_rate) {}

  double Value(const std::string& monitor, const proto::EpochRecord& record) const;

  const proto::Job* job_;
  JobCallbacks callbacks_;
  float learning_rate_;
  int64_t epochs_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_EPOCH_DECISIONS_H_
