#ifndef CAIRN_CLI_JOB_FILE_H_
#define CAIRN_CLI_JOB_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// Parses a job file (doc/job_file.md): JSON with // and /* */ comments. Relative paths become
// absolute paths under `folder`, which is absolute. Opens no files. InvalidArgument, with the
// field's path, its value and the expected value: any error that can be detected without model and
// data.
absl::StatusOr<proto::Job> ParseJobFile(std::string_view text, const std::string& folder);

// The same for a file. Errors start with its name. NotFound or PermissionDenied: cannot be read.
absl::StatusOr<proto::Job> ReadJobFile(const std::string& file);

// True if a name is that of a model file and not of a job: a path with a slash
// ("./variables.index"), or a name with the extension of a model file ("model.onnx").
bool IsModelFile(const std::string& name);
// True if resume_from names a model file.
bool ResumesFromFile(const proto::Job& job);

// Reads a data source as "validation" of a job with this "train" (whose settings it inherits). The
// argument is a file with the JSON, or the JSON itself, which starts with a brace and has paths
// relative to the working directory. A file with whole examples in the format of the training data,
// according to its extension, has the settings of the training data. Errors as above.
absl::StatusOr<proto::DataSource> ReadDataSource(const std::string& file_or_json,
                                                 const proto::DataSource& train);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JOB_FILE_H_
