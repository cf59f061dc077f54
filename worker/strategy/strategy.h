#ifndef CAIRN_WORKER_STRATEGY_STRATEGY_H_
#define CAIRN_WORKER_STRATEGY_STRATEGY_H_

#include <cstdint>
#include <functional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/span_recorder.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// How training obtains parameter values and applies gradients. A strategy fills an executor's
// values before a step and takes its gradients during it:
//
//   BeginStep, forward pass, backward pass with OnGradient for each variable, EndStep
//
// All methods are called on one thread, except Wake.
//
// Errors: FailedPrecondition means that the job was rolled back or stopped, so the results of this
// generation are void. Any other error means that the job cannot continue on this worker.
class Strategy {
 public:
  struct Step {
    int64_t batch = 0;
    int64_t examples = 0;
    // The worker did something else since the last step, so its values may be stale.
    bool after_idle = false;
    // Records kWaitPhase and kPullPhase, unless null.
    SpanRecorder* recorder = nullptr;
  };

  enum class Ready {
    kYes,
    kAbandoned,  // should_abandon returned true; the step has not begun.
    kApplied,    // Another worker's gradients of the batch are applied; the step has not begun.
  };

  // Called when a batch is applied: every ps has applied its gradients. Called at most once for
  // each step that ended, on any thread, possibly before EndStep returns. Must not block.
  using OnApplied = std::function<void(const proto::BatchRecord&)>;

  virtual ~Strategy() = default;

  // Makes the executor's values as fresh as the consistency mode requires, and blocks until they
  // are. While it waits it calls should_abandon periodically and after each Wake.
  virtual absl::StatusOr<Ready> BeginStep(const Step& step,
                                          absl::FunctionRef<bool()> should_abandon) = 0;

  // The executor's gradient of this variable is complete. It does not change until EndStep.
  virtual void OnGradient(int variable) = 0;

  // Ends the step. OnApplied is called with `record` once the batch is applied, now or later.
  virtual absl::Status EndStep(const proto::BatchRecord& record) = 0;

  // Makes a BeginStep that waits call should_abandon. Callable from any thread.
  virtual void Wake() = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_STRATEGY_H_
