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

// A job file with the model it names: everything that `cairn` reads itself.
struct Submission {
  std::string file;
  proto::Job job;
  SubmittedModel model;
};

// Reads both. Errors begin with the file that is wrong.
absl::StatusOr<Submission> ReadSubmission(const std::string& job_file);

// Submits it, and brings initial weights to the ps if the model has any, or if it takes them from
// another job or a file (resume_from). With `reuse` the job of the same name is answered if it is
// the same, and refused, naming what differs, if not; an upload that was broken off is then made
// again. `notes` (may be null) gets lines that tell a person where the weights came from.
absl::StatusOr<proto::SubmitReply> Submit(CoordinatorApi* api, const Submission& submission,
                                          bool reuse, std::vector<std::string>* notes = nullptr);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_SUBMISSION_H_
