#ifndef CAIRN_WORKER_STRATEGY_STRATEGY_H_
#define CAIRN_WORKER_STRATEGY_STRATEGY_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cluster/ps_client.h"
#include "common/span_recorder.h"
#include "nn/executor.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// Where a job's parameters are, for one generation of the job. A strategy decides how values arrive
// for training and for evaluation, how gradients are applied, and when a batch is applied. Nothing
// else on a worker knows it. It fills an executor's values before a step and takes its gradients
// during the step:
//
//   BeginStep, forward pass, backward pass, OnGradient for each variable, EndStep
//
// A step may end without OnGradient and EndStep, and the next one begins.
// Evaluation has another executor, which LoadCut fills. All methods are called on one thread,
// except Wake. Destruction cancels what is in flight; on_applied is not called afterwards.
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

  enum class StepStatus {
    kOk,         // The step has begun.
    kAbandoned,  // should_abandon returned true; the step has not begun.
    kApplied,    // Another worker's gradients of the batch are applied; the step has not begun.
  };

  // Called when a batch is applied: its gradients are part of all values, wherever they are. Called
  // at most once for each step that ended, on any thread, possibly before EndStep returns. Must not
  // block.
  using OnApplied = std::function<void(const proto::BatchRecord&)>;

  virtual ~Strategy() = default;

  // Makes the executor's values as fresh as the consistency mode requires, and blocks until they
  // are. While it waits it calls should_abandon periodically and after each Wake.
  virtual absl::StatusOr<StepStatus> BeginStep(const Step& step,
                                               absl::FunctionRef<bool()> should_abandon) = 0;

  // The executor's gradient of this variable is complete, and those of all variables are finite. It
  // does not change until EndStep.
  virtual void OnGradient(int variable) = 0;

  // Ends the step. OnApplied is called with `record` once the batch is applied, now or later. A
  // rejected batch had no OnGradient: it is applied, changes nothing, and has no weight in a
  // synchronous update.
  virtual absl::Status EndStep(const proto::BatchRecord& record) = 0;

  // Fills `executor` with the values of a cut. Not between BeginStep and EndStep. Blocks as
  // BeginStep does. NotFound: the cut no longer exists. Cancelled: should_abandon returned true.
  // After an error the values are undefined.
  virtual absl::Status LoadCut(uint64_t cut, nn::Executor* executor,
                               absl::FunctionRef<bool()> should_abandon) = 0;

  // Makes a BeginStep or LoadCut that waits call should_abandon. Callable from any thread.
  virtual void Wake() = 0;

  // The ps that has not answered for the longest time; nullopt if all answer. Callable from any
  // thread.
  virtual std::optional<cluster::PsClient::Silence> LongestSilence() const { return std::nullopt; }
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_STRATEGY_H_
