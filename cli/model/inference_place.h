#ifndef CAIRN_CLI_MODEL_INFERENCE_PLACE_H_
#define CAIRN_CLI_MODEL_INFERENCE_PLACE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "cli/model/cluster_inference.h"
#include "cli/model/offline_task.h"
#include "cli/model/trained_model.h"
#include "proto/evaluation.pb.h"

namespace cairn::cli {

// Where a model is computed: by the workers of a cluster if `cluster.coordinator` is set, else on
// this machine.
struct InferencePlace {
  OfflineOptions machine;
  ClusterInferenceOptions cluster;

  bool on_cluster() const { return cluster.coordinator != nullptr; }
};

// As RunOfflineTask or RunOnCluster.
inline absl::StatusOr<proto::EvaluationResult> RunInference(
    const TrainedModel& trained, const InferencePlace& place,
    std::vector<std::vector<float>>* outputs) {
  return place.on_cluster() ? RunOnCluster(trained, place.cluster, outputs)
                            : RunOfflineTask(trained, place.machine, outputs);
}

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_INFERENCE_PLACE_H_
