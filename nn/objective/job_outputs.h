#ifndef CAIRN_NN_OBJECTIVE_JOB_OUTPUTS_H_
#define CAIRN_NN_OBJECTIVE_JOB_OUTPUTS_H_

#include <string>

#include "absl/status/status.h"
#include "nn/model.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// A job file may speak of a model's outputs in several ways: in their order or by their names, of
// all at once or of one. These functions bring it into the one form that everything else reads.
// INVALID_ARGUMENT begins with the field's path in the job file.

// Losses, their weights, and metrics. Afterwards:
// - If the model has one output, job->loss() is its loss and job->metrics() are its metrics;
//   job->outputs() is empty, or one entry that has nothing but a loss_weight.
// - Otherwise job->outputs() has one entry for each output, in their order, with its loss; and
//   job->metrics(), which must be empty before, are first each output's loss under the name
//   OUTPUT_loss, then their metrics under OUTPUT_METRIC, as Keras reports them.
absl::Status ResolveOutputs(const Model& model, proto::Job* job);

// Labels. Afterwards the files of a source's labels stand in the order of the model's outputs, and
// those whose labels become vectors are among them. `path` is the source's.
absl::Status ResolveLabels(const std::string& path, const Model& model, proto::DataSource* source);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OBJECTIVE_JOB_OUTPUTS_H_
