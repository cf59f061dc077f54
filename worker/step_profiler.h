#ifndef CAIRN_WORKER_STEP_PROFILER_H_
#define CAIRN_WORKER_STEP_PROFILER_H_

#include <cstdint>

#include "common/span_recorder.h"
#include "nn/model.h"
#include "proto/coordinator.pb.h"
#include "worker/data/batch_loader.h"
#include "worker/step_phase.h"

namespace cairn::worker {

// Records one profile: the time that the phases of a step and the layers of the model take, over a
// number of steps. All memory is reserved in the constructor, so that recording allocates nothing.
// Belongs to the trainer's thread.
class StepProfiler {
 public:
  // The index of the first layer's name. nn::Executor::set_recorder numbers the layers from it.
  static constexpr uint32_t kFirstLayerName = kStepPhaseCount;

  // `model` must outlive the profiler.
  StepProfiler(const proto::Profile& command, const nn::Model* model);

  SpanRecorder* recorder() { return &recorder_; }
  // Adds what the reader threads have done for a batch.
  void AddLoad(const LoadTimes& times);
  void StepDone() { ++steps_done_; }
  bool complete() const { return steps_done_ >= steps_; }
  uint64_t profile() const { return profile_; }

  proto::ProfileReport Report() const;

 private:
  const uint64_t profile_;
  const int64_t steps_;
  const nn::Model& model_;
  SpanRecorder recorder_;
  int64_t steps_done_ = 0;
  int64_t loads_ = 0;
  LoadTimes load_times_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STEP_PROFILER_H_
