#ifndef CAIRN_CLI_MODEL_UPLOADED_MODEL_H_
#define CAIRN_CLI_MODEL_UPLOADED_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/coordinator_api.h"
#include "cli/model/trained_model.h"
#include "cli/upload_heartbeat.h"

namespace cairn::cli {

// A model with its values on the ps of a cluster, where its workers read them. The values are the
// initial ones of a job that waits for more of them, so that it never trains and delays no other
// job. The destructor deletes the job. If this process dies, the job fails after 3 min.
class UploadedModel {
 public:
  // Blocks. `coordinator` must outlive the result. Errors as those of submitting a job.
  static absl::StatusOr<std::unique_ptr<UploadedModel>> Create(CoordinatorApi* coordinator,
                                                               const TrainedModel& model);
  ~UploadedModel();
  UploadedModel(const UploadedModel&) = delete;
  UploadedModel& operator=(const UploadedModel&) = delete;

  // The model as that of the job, whose checkpoint 0 has the values.
  const TrainedModel& model() const { return model_; }

 private:
  UploadedModel(CoordinatorApi* coordinator, const std::string& job)
      : coordinator_(*coordinator), job_(job), heartbeat_(coordinator, job) {}

  CoordinatorApi& coordinator_;
  const std::string job_;
  UploadHeartbeat heartbeat_;
  TrainedModel model_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_UPLOADED_MODEL_H_
