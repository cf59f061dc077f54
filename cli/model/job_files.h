#ifndef CAIRN_CLI_MODEL_JOB_FILES_H_
#define CAIRN_CLI_MODEL_JOB_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nn/formats/export_format.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// A file that is read, and must not be written over.
struct ReadFileName {
  std::string name;  // Or a pattern (glob(7)): all that match.
  std::string what;  // Whose it is: "--input", "the job's data".
};

// What a job is made of: its data, its model, and the weights that lie beside the model, as far as
// the model can be read here. What resume_from names is not among them: it is a start like any
// other export.
std::vector<ReadFileName> FilesOfJob(proto::Job job);

// Whether `output`, which `flag` ("--output") says is to be written, is none of these files, under
// whatever name or link. InvalidArgument names both.
absl::Status CheckOverwritesNone(const std::string& flag, const std::string& output,
                                 const std::vector<ReadFileName>& read);

// The same for the files of an export, which must not overwrite the files of the job.
absl::Status CheckExportOverwritesNone(const std::string& flag, const nn::ExportFormat& format,
                                       const std::string& output, const proto::Job& job);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_JOB_FILES_H_
