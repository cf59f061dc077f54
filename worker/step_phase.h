#ifndef CAIRN_WORKER_STEP_PHASE_H_
#define CAIRN_WORKER_STEP_PHASE_H_

#include <cstdint>

namespace cairn::worker {

// The parts of a step under which a profile has its time, as the numbers of their names.
enum StepPhase : uint32_t {
  kReadPhase,  // The batch was not ready yet.
  kWaitPhase,  // For the acknowledgement of what was pushed.
  kPullPhase,
  kForwardPhase,
  kBackwardPhase,
  kPushPhase,  // Gradients handed over, within the backward pass and after it.
  kStepPhaseCount,
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STEP_PHASE_H_
