#ifndef CAIRN_WORKER_JOB_MODEL_H_
#define CAIRN_WORKER_JOB_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/model.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"

namespace cairn::worker {

// What a job computes: its model with loss and metrics. Immutable.
struct JobModel {
  std::unique_ptr<nn::Model> model;
  std::unique_ptr<nn::Loss> loss;
  std::vector<std::unique_ptr<nn::Metric>> metrics;  // In the order of Job.metrics.

  // InvalidArgument as Model::Create, CreateLoss and CreateMetric.
  static absl::StatusOr<JobModel> Create(const proto::Job& job, const proto::ModelSpec& spec);

  std::vector<const nn::Metric*> metric_list() const;
};

// The data of a job as far as they are read: null for what it has not, or was not asked for.
struct JobData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;
};

// Reads the job's data files, checked against the model. ResourceExhausted if they do not fit into
// memory.
absl::StatusOr<JobData> LoadJobData(const proto::Job& job, const JobModel& model, bool train,
                                    bool validation);

// Reads everything that the job needs and says what it found.
proto::InspectReply InspectJob(const proto::Inspect& inspect);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_MODEL_H_
