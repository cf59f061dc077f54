#ifndef CAIRN_WORKER_JOB_DATA_H_
#define CAIRN_WORKER_JOB_DATA_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nn/model.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"
#include "worker/data/files/data_storage.h"
#include "worker/job_model.h"

namespace cairn::worker {

// The data of a job as far as they are read: null for what it has not, or was not asked for.
struct JobData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;
};

// Opens the job's data files, checked against the model and, by their fingerprints, against what
// was inspected (a plan without fingerprints is not compared). FailedPrecondition: they are others.
// ResourceExhausted: no room. Else InvalidArgument and DataLoss, naming the file.
absl::StatusOr<JobData> LoadJobData(const proto::JobPlan& plan, const JobModel& model,
                                    const DataStorage::Options& storage, bool train,
                                    bool validation);

// The inputs alone of what the job's `validation` names, prepared as the job prepares its own. No
// labels and no fingerprints are looked at. Errors as LoadJobData's; they begin with "--input".
absl::StatusOr<std::shared_ptr<const Dataset>> LoadInputs(const proto::JobPlan& plan,
                                                          const nn::Model& model,
                                                          const DataStorage::Options& storage);

// Reads everything that the job needs, says what it found, and fixes for all workers what depends
// on the data: vocabularies, means, the rows for validation.
proto::InspectReply InspectJob(const proto::Inspect& inspect, const DataStorage::Options& storage);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_DATA_H_
