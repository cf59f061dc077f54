#ifndef CAIRN_JOB_DATA_FORMATS_DATA_FORMAT_H_
#define CAIRN_JOB_DATA_FORMATS_DATA_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/repeated_field.h"
#include "nn/signature.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The error of a field of the job file: the parts, put together.
template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

using FileNames = google::protobuf::RepeatedPtrField<std::string>;

// The lists of file names in the message of a format. A format has one of two layouts:
// - Array files: the fields `features` and `labels` have a file name, or a pattern, for each input
//   and each output of the model.
// - Example files: the field `files` or `directory` has files with whole examples, inputs and
//   labels, or folders of them.
struct FileLists {
  const char* field = "files";         // The name of the list `features` in the job file.
  FileNames* features = nullptr;       // Or the list of example files.
  FileNames* labels = nullptr;         // Null for example files, as the next.
  FileNames* label_outputs = nullptr;  // See proto::NpySource.
};

template <typename Source>
FileLists ArrayFiles(Source* source) {
  return {"features", source->mutable_features(), source->mutable_labels(),
          source->mutable_label_outputs()};
}

template <typename Source>
FileLists ExampleFiles(Source* source) {
  return {"files", source->mutable_files()};
}

// Where the rows of a format are compared with a filter of a pipeline.
enum class RowFilters {
  kNames,   // The reader compares the columns `filter_columns`. There are no windows.
  kArrays,  // The columns are the elements of its arrays: label, feature_0, feature_1 ...
  kReader,  // The reader compares the columns of the files, and does not encode other rows.
};

// What a source must have: all but a zipped source have the inputs.
struct DataNeeds {
  bool inputs = true;
  bool labels = true;
};

// A column of which the training data decide something.
struct OpenColumn {
  enum class Kind {
    kNames,   // Its different values, of all rows.
    kTokens,  // The tokens of the texts of training rows, the most frequent ones first.
    kMean,    // Of the numbers of training rows.
  };
  std::string name;
  Kind kind = Kind::kNames;
  const char* what = "column";  // For messages.
  // kNames: the name that replaces missing values, which has an id even if no row has it.
  std::optional<std::string> name_of_missing = std::nullopt;
  // kNames: if all names are whole numbers, they are in the order of these.
  bool may_be_numbers = false;
  // kTokens: at most so many.
  int64_t most = 0;
  // What to do about a vocabulary that is too large.
  const char* hint = "";
};

// The rules of a format of data files: its fields in the job file, and what `cairn submit` checks
// without reading files. A format is a member of proto::DataSource.format and one line of the table
// in job/data_source.cc. The table in worker/data/source_arrays.cc has its reader.
struct DataFormat {
  const char* name;  // Of the member, which is the field of the job file: "npy".
  // The lists in the format's message. Makes the source a source of this format.
  FileLists (*lists)(proto::DataSource* source);
  // Of file names that only this format has: ".npy". ".gz" may follow them.
  std::vector<const char*> extensions;
  // For messages: a file name or pattern, and what "labels" may be. Empty: there is no such field.
  const char* file_example;
  const char* labels_example = "";

  // Whether records that cannot be read can be told from their neighbors (DataSource.skip_damaged).
  bool skips_damaged = false;
  RowFilters filters = RowFilters::kNames;
  std::vector<const char*> filter_columns = {};
  // Whether it has texts, for inputs of dtype string.
  bool has_text = false;
  // Whether its list names folders, for `cairn evaluate --data FOLDER`.
  bool has_folders = false;

  // Whether workers may inspect a part of the files each: what is found in one does not depend on
  // the others, but for the open columns.
  bool is_divisible = false;
  // The columns that the source leaves open. Null: none.
  std::vector<OpenColumn> (*open_columns)(const proto::DataSource& source) = nullptr;

  // The rest may be null. `path` is the path of the format's field: "train.npy".

  // Checks fields other than the lists of files. The source may name none of what is not needed.
  absl::Status (*check)(const std::string& path, const proto::DataSource& source,
                        const DataNeeds& needs) = nullptr;
  // Checks that the source fits the model's inputs and outputs.
  absl::Status (*check_model)(const std::string& path, const proto::DataSource& source,
                              const nn::Signature& model) = nullptr;
  // Sets fields that the validation source does not set to those of the training source, which has
  // the same format.
  void (*inherit)(const proto::DataSource& train, proto::DataSource* validation) = nullptr;

  bool has_array_files() const {
    proto::DataSource any;
    return lists(&any).labels != nullptr;
  }
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_DATA_FORMAT_H_
