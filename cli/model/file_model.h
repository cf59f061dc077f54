#ifndef CAIRN_CLI_MODEL_FILE_MODEL_H_
#define CAIRN_CLI_MODEL_FILE_MODEL_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/model/offline_task.h"
#include "cli/model/trained_model.h"

namespace cairn::cli {

struct FileModelOptions {
  // A job file, or its JSON; empty: none. It describes the data and how their numbers are prepared,
  // the losses and the metrics. Only what is used must be there: "model", "optimizer" and the
  // length of the training may be absent, and "train" if there is "validation".
  std::string job_file;
  // The model is evaluated, so it needs losses.
  bool evaluates = false;
  // The validation data of the job file are used. Otherwise they need not be there.
  bool reads_validation = false;
  // Reads the training data of the job file, for vocabularies and means.
  OfflineOptions machine;
};

// Reads a model file (nn/formats/model_file.h) as the trained model of a job, to evaluate it or to
// predict. A file with weights alone, such as a TensorFlow checkpoint, has the architecture of the
// job file's model. Errors start with the name of the wrong file. InvalidArgument: the file has no
// weights, or they do not fit the model; the job file is invalid, or missing where it is needed.
absl::StatusOr<TrainedModel> ReadFileModel(const std::string& file,
                                           const FileModelOptions& options);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_FILE_MODEL_H_
