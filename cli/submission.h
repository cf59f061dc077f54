#ifndef CAIRN_CLI_SUBMISSION_H_
#define CAIRN_CLI_SUBMISSION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/coordinator_api.h"
#include "cli/model_reader.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// A job file and its model, as `cairn` read them.
struct Submission {
  std::string file;
  proto::Job job;
  SubmittedModel model;
};

// Reads both. Errors start with the name of the wrong file.
absl::StatusOr<Submission> ReadSubmission(const std::string& job_file);

// Submits the job, and uploads initial weights to the ps if the model or resume_from has any. With
// `reuse`, the reply is the job of the same name if it is identical; the error names the
// differences if it is not. An interrupted upload is then repeated. `notes` (may be null) gets
// lines for the user about the origin of the weights. Aborted: nothing has happened, since members
// that the job needs have not joined the cluster yet.
absl::StatusOr<proto::SubmitReply> Submit(CoordinatorApi* api, const Submission& submission,
                                          bool reuse, std::vector<std::string>* notes = nullptr);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_SUBMISSION_H_
