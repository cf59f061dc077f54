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

// Where parameters live and how gradients get there. A strategy fills an executor's values before a
// step and takes its gradients during it:
//
//   BeginStep, forward pass, backward pass with OnGradient for each variable, EndStep
//
// All calls on one thread, but Wake. Failures other than FailedPrecondition (the job was rolled
// back or stopped; nothing of this generation counts any more) mean that the job cannot go on.
class Strategy {
 public:
  struct Step {
    int64_t batch = 0;
    int64_t examples = 0;
    // The worker has done something else since the last step: values may be old.
    bool after_idle = false;
    // Gets the time of kWaitPhase and kPullPhase, if it is there.
    SpanRecorder* recorder = nullptr;
  };

  enum class Ready {
    kYes,
    kAbandoned,  // should_abandon said so; nothing has begun.
    kSettled,    // The batch is settled already, by somebody else; nothing has begun.
  };

  // A batch is settled: its gradients have been applied, everywhere. Called once for each step that
  // ended, on any thread, perhaps before EndStep returns; must not block.
  using OnSettled = std::function<void(const proto::BatchRecord&)>;

  virtual ~Strategy() = default;

  // Makes the executor's values fresh enough for the step; blocks until they are. While it waits it
  // asks should_abandon now and then, and after each Wake.
  virtual absl::StatusOr<Ready> BeginStep(const Step& step,
                                          absl::FunctionRef<bool()> should_abandon) = 0;

  // The executor's gradient of this variable is complete, and stays as it is until EndStep.
  virtual void OnGradient(int variable) = 0;

  // `record` is what OnSettled is called with, now or later.
  virtual absl::Status EndStep(const proto::BatchRecord& record) = 0;

  // Makes a BeginStep that waits ask should_abandon. Any thread.
  virtual void Wake() = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_STRATEGY_H_
