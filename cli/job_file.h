#ifndef CAIRN_CLI_JOB_FILE_H_
#define CAIRN_CLI_JOB_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// Reads a job file's text (doc/job_file.md): JSON, with // and /* */ comments. Relative paths in it
// become absolute ones, as seen from `folder`, which is absolute. No file is opened.
// InvalidArgument, with the field's path, its value and what is expected: everything that can be
// seen to be wrong without model and data.
absl::StatusOr<proto::Job> ParseJobFile(std::string_view text, const std::string& folder);

// The same for a file. Errors begin with its name. NotFound or PermissionDenied: cannot be read.
absl::StatusOr<proto::Job> ReadJobFile(const std::string& file);

// Whether resume_from names a model's file, by a path with a slash ("./model.json"), and not a job.
bool ResumesFromFile(const proto::Job& job);

// What a job file says under "validation" beside this "train" (of which a CSV file has its columns
// unless it names others): a file with it, or the JSON itself (it begins with a brace; its paths
// are relative to the working directory). A file that by its name holds CSV, or CIFAR's images,
// stands for the training data's description with this file, if that is of the same format. Errors
// as above.
absl::StatusOr<proto::DataSource> ReadDataSource(const std::string& file_or_json,
                                                 const proto::DataSource& train);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JOB_FILE_H_
