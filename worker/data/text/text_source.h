#ifndef CAIRN_WORKER_DATA_TEXT_TEXT_SOURCE_H_
#define CAIRN_WORKER_DATA_TEXT_TEXT_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/data_reader.h"

namespace cairn::worker {

// Reads a source of texts. A line of a file is an example: its label, the delimiter and the text;
// empty lines are ignored. In folders a file is an example, and the folder of its class is its
// label. All errors name the file, and the line.
absl::StatusOr<SourceArrays> ReadText(const ReadRequest& request);
absl::StatusOr<SourceArrays> SurveyText(const ReadRequest& request);

// Folders stand for the .txt files in them at any depth.
absl::StatusOr<std::vector<std::string>> ListText(const proto::DataSource& source,
                                                  const std::vector<std::string>& names,
                                                  bool needs_labels);

// Finds the tokens of the training texts, and the classes that the job file does not list. Classes
// are those of all texts, because each text that is read must have a known one.
absl::StatusOr<proto::DataFindings> SearchText(const proto::DataSource& train,
                                               const SourceFiles& files,
                                               const ChooseTrainingRows& choose);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_TEXT_TEXT_SOURCE_H_
