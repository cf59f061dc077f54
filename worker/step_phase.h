#ifndef CAIRN_WORKER_STEP_PHASE_H_
#define CAIRN_WORKER_STEP_PHASE_H_

#include <cstdint>

namespace cairn::worker {

// The phases of a training step in a profile. The values are indices into the profile's names.
enum StepPhase : uint32_t {
  kDataPhase,  // Waiting for the batch's data.
  kWaitPhase,  // Waiting for the acknowledgement of earlier pushes.
  kPullPhase,
  kForwardPhase,
  kBackwardPhase,
  kPushPhase,  // Handing gradients to the ps client.
  kStepPhaseCount,
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STEP_PHASE_H_
