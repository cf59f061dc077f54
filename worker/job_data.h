#ifndef CAIRN_WORKER_JOB_DATA_H_
#define CAIRN_WORKER_JOB_DATA_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/model.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"
#include "worker/data/files/data_storage.h"
#include "worker/job_model.h"

namespace cairn::worker {

// The datasets of a job. Null: the job has none, or it was not requested.
struct JobData {
  std::shared_ptr<DataStorage> storage;  // Of both.
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;
};

// Opens the job's data files and checks them against the model. If the plan has fingerprints, also
// checks that the files are those that were inspected.
//
// Errors: FailedPrecondition, if they are not; ResourceExhausted, if memory or disk space is short;
// InvalidArgument and DataLoss otherwise, naming the file. They begin with the job file's field or,
// for validation data from elsewhere, with `validation_name`.
absl::StatusOr<JobData> LoadJobData(const proto::JobPlan& plan, const JobModel& model,
                                    const DataStorage::Options& storage, bool train,
                                    bool validation, const std::string& validation_name = "");

// Opens only the inputs of the files that the job's `validation` names, preprocessed as in the job.
// Ignores labels and fingerprints. Errors as LoadJobData's; they begin with "--input".
absl::StatusOr<std::shared_ptr<const Dataset>> LoadInputs(const proto::JobPlan& plan,
                                                          const nn::Model& model,
                                                          const DataStorage::Options& storage);

// The files of the job's `validation`, in at most 256 groups, with fingerprints. So workers that
// see different files under the same names are told apart. Empty if LoadJobData has compared them
// with the plan. Without `needs_labels` they are those of LoadInputs. Errors as ListFiles's and
// FileFingerprint's.
absl::StatusOr<std::vector<proto::DataFiles>> FingerprintValidation(const proto::JobPlan& plan,
                                                                    const nn::Model& model,
                                                                    bool needs_labels);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_DATA_H_
