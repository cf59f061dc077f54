#ifndef CAIRN_JOB_DATA_SOURCE_H_
#define CAIRN_JOB_DATA_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "job/data_formats/data_format.h"
#include "nn/signature.h"
#include "proto/job.pb.h"

namespace cairn::job {

// Validation of a job's data sources, without reading files. All errors are INVALID_ARGUMENT, start
// with the field's path in the job file, and name the value and the valid ones.

// Checks everything that does not depend on the model.
absl::Status CheckJobData(const proto::Job& job);

// Checks that the sources fit the model's inputs and outputs. CheckJobData must have accepted the
// job, and ResolveLabels must have been applied.
absl::Status CheckDataFitsModel(const proto::Job& job, const nn::Signature& model);

// The inputs and outputs of the model that a zipped source has. InvalidArgument: the model has
// none with such a name. `path` is the path of the zipped source: "train.zip[0]".
absl::StatusOr<nn::Signature> PartOf(const std::string& path, const nn::Signature& model,
                                     const proto::ZippedSource& zipped);
// Their places in the model, which has them.
std::vector<int> InputsOf(const proto::ZippedSource& zipped, const nn::Signature& model);
std::vector<int> OutputsOf(const proto::ZippedSource& zipped, const nn::Signature& model);

// A file name, or a pattern of file names, in a source.
struct DataFile {
  std::string path;  // The path of the field in the job file: "train.idx.features[0]".
  std::string* name = nullptr;
};

// All file names of a source. The result points into `source`. `path` is the source's path in the
// job file.
std::vector<DataFile> FilesOf(const std::string& path, proto::DataSource* source);

// The sources of a mixture, with the fields that they share, or of a zip. Of another source:
// itself.
std::vector<proto::DataSource> SourcesOf(const proto::DataSource& source);

// Describes examples of the source that are in other files: itself, also if it is a zip, or, of a
// mixture, its first source.
proto::DataSource TemplateOf(const proto::DataSource& source);

// The job's validation source with defaults applied: settings of labels, columns and preprocessing
// that it does not set are the training source's, except `scale`, which belongs to the files.
proto::DataSource ValidationSource(const proto::Job& job);

// The rows of a source that has some, as in the job file: "[0, 50000]".
std::string RowsText(const proto::DataSource& source);

// True if the labels of this output are class labels to be one-hot encoded.
bool IsOneHot(const proto::DataSource& source, const std::string& output);

// Whether workers may inspect a part of the source's files each.
bool IsDivisible(const proto::DataSource& source);
// A source with files: all of the job's training or validation data, or one of their mixture or
// zip.
struct PlacedSource {
  bool is_validation = false;
  int number = 0;
  std::string name;  // "mix[1]"; empty if it is all of the data.
  proto::DataSource source;
};
// Those whose files workers survey in parts: the divisible ones. The training data come first. One
// worker reads zips that skip damaged records, training data that leave columns open and whose
// filters need all rows, and the sources of zips and mixtures that leave columns open; those of
// mixtures are refused.
std::vector<PlacedSource> SurveyedSources(const proto::Job& job);
// The columns that the source leaves open.
std::vector<OpenColumn> OpenColumns(const proto::DataSource& source);
// Whether the source's rows that are for training depend on how many it has.
bool ChoosesRows(const proto::Job& job, const proto::DataSource& source);
// Whether the inspection reads the training rows once more when their number is known: for
// statistics, or because the steps of the pipeline may refuse some.
bool IsReadAgain(const proto::DataSource& train);

// All formats, in the order of messages.
const std::vector<DataFormat>& DataFormats();

// The source's format; null if it has none.
const DataFormat* FormatOf(const proto::DataSource& source);

// The names of all formats for messages: "idx, npy, ...".
std::string DataFormatNames();

// Replaces the files of a source with a format by others of the same format. Removes what belongs
// to the examples of the old files: files of labels, weights, and the choice of rows.
void ReplaceFiles(const std::vector<std::string>& files, proto::DataSource* source);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_SOURCE_H_
