#ifndef CAIRN_CLI_MODEL_JOB_FILES_H_
#define CAIRN_CLI_MODEL_JOB_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nn/formats/export_format.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// A file that is read and must not be overwritten.
struct ReadFileName {
  std::string name;  // Or a pattern (glob(7)) for several files.
  std::string what;  // For messages: "--input", "the job's data".
};

// The files of a job: its data, its model, and the model's weight files if the model can be read on
// this machine. Not the file of resume_from, which is an export and may be replaced by a newer one.
std::vector<ReadFileName> FilesOfJob(proto::Job job);

// Checks that writing `output` overwrites none of these files, under any name or link.
// InvalidArgument starts with `flag` ("--output") and names both files.
absl::Status CheckOverwritesNone(const std::string& flag, const std::string& output,
                                 const std::vector<ReadFileName>& read);

// The same for the files of an export, which must not overwrite the files of the job.
absl::Status CheckExportOverwritesNone(const std::string& flag, const nn::ExportFormat& format,
                                       const std::string& output, const proto::Job& job);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_JOB_FILES_H_
