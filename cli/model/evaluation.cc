#include "cli/model/evaluation.h"

#include "absl/strings/str_cat.h"

namespace cairn::cli {

absl::StatusOr<proto::EvaluationRecord> Evaluate(const TrainedModel& trained,
                                                 const InferencePlace& place) {
  const auto result = RunInference(trained, place, /*outputs=*/nullptr);
  if (result.ok()) return result->record();
  if (place.on_cluster() || !absl::IsInvalidArgument(result.status())) return result.status();
  return absl::InvalidArgumentError(absl::StrCat(std::string(result.status().message()),
                                                 " (evaluate reads the data on this machine)"));
}

}  // namespace cairn::cli
