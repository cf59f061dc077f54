#ifndef CAIRN_JOB_JOB_OUTPUTS_H_
#define CAIRN_JOB_JOB_OUTPUTS_H_

#include <string>

#include "absl/status/status.h"
#include "nn/model.h"
#include "nn/signature.h"
#include "proto/job.pb.h"

namespace cairn::job {

// A job file can refer to a model's outputs in several ways: in order or by name, all at once or
// one by one. These functions convert them to one form. INVALID_ARGUMENT starts with the field's
// path in the job file.

// Resolves losses, loss weights and metrics. Afterwards:
// - If the model has one output, job->loss() is its loss and job->metrics() are its metrics;
//   job->outputs() is empty or has one entry that sets only loss_weight.
// - Otherwise job->outputs() has one entry per output, in order, with its loss. job->metrics(),
//   which must be empty before, contains each output's loss under the name OUTPUT_loss, then each
//   output's metrics under OUTPUT_METRIC, as Keras reports them.
absl::Status ResolveOutputs(const nn::Model& model, proto::Job* job);

// Resolves label files: afterwards they are in the order of the model's outputs. Checks the names
// of outputs in one_hot. `path` is the source's path in the job file.
absl::Status ResolveLabels(const std::string& path, const nn::Signature& model,
                           proto::DataSource* source);

}  // namespace cairn::job

#endif  // CAIRN_JOB_JOB_OUTPUTS_H_
