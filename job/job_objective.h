#ifndef CAIRN_JOB_JOB_OBJECTIVE_H_
#define CAIRN_JOB_JOB_OBJECTIVE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "proto/job.pb.h"

namespace cairn::job {

// One entry of Job.metrics with its arguments.
struct JobMetric {
  proto::Metric config;
  // An index into Model::outputs().
  int output = 0;
  // Examples count with their weights.
  bool weighted = false;
};

// The metrics of a job, in the order of Job.metrics.
std::vector<JobMetric> JobMetrics(const proto::Job& job);

// The objective of a job to which ResolveOutputs has been applied. In a job of several models it
// has no losses, and as metrics the losses of the objectives: their states are sums of losses and
// numbers of examples. InvalidArgument starts with the field's path; otherwise errors are those of
// nn::CreateLoss and nn::CreateMetric.
absl::StatusOr<nn::Objective> CreateObjective(const proto::Job& job, const nn::Model& model);

}  // namespace cairn::job

#endif  // CAIRN_JOB_JOB_OBJECTIVE_H_
