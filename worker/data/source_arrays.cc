#include "worker/data/source_arrays.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/data_source.h"
#include "worker/data/cifar_file.h"
#include "worker/data/csv/csv_source.h"
#include "worker/data/files/file_list.h"
#include "worker/data/files/load_file.h"
#include "worker/data/idx_file.h"
#include "worker/data/images/image_source.h"
#include "worker/data/npy_file.h"
#include "worker/data/npz_file.h"
#include "worker/data/parquet/parquet_source.h"
#include "worker/data/text/text_source.h"
#include "worker/data/tfrecord/tfrecord_source.h"

namespace cairn::worker {
namespace {

using Files = std::vector<std::string>;

absl::StatusOr<const DataReader*> ReaderOf(const proto::DataSource& source) {
  const job::DataFormat* format = job::FormatOf(source);
  const auto reader = absl::c_find_if(DataReaders(), [&](const DataReader& each) {
    return format != nullptr && std::string(each.name) == format->name;
  });
  if (reader != DataReaders().end()) return &*reader;
  return absl::InvalidArgumentError(
      absl::StrCat("the data source has none of the formats ", job::DataFormatNames()));
}

// The files of each of `parts` inputs or outputs. If there is only one, all names are its files,
// and their rows follow each other. Otherwise each name belongs to one input or output.
absl::StatusOr<std::vector<Files>> ListParts(const job::FileNames& names, size_t parts) {
  std::vector<Files> files;
  if (names.empty()) return files;
  if (parts == 1) {
    CAIRN_ASSIGN_OR_RETURN(files.emplace_back(), ExpandFileNames({names.begin(), names.end()}));
    return files;
  }
  for (const std::string& name : names) {
    CAIRN_ASSIGN_OR_RETURN(files.emplace_back(), ExpandFileNames({name}));
  }
  return files;
}

// Arrays of different lengths stay as they are: Dataset reports them.
absl::Status SelectRows(const proto::DataSource& source, SourceArrays* arrays) {
  if (source.rows().empty()) return absl::OkStatus();
  std::vector<Array*> all;
  for (Array& input : arrays->inputs) all.push_back(&input);
  for (Array& label : arrays->labels) all.push_back(&label);
  if (arrays->weights) all.push_back(&*arrays->weights);
  for (const Array* array : all) {
    if (array->rows() != all[0]->rows()) return absl::OkStatus();
  }
  if (all.empty()) return absl::OkStatus();
  CAIRN_RETURN_IF_ERROR(CheckRowsExist(source, all[0]->rows()));
  for (Array* array : all) *array = array->Rows(source.rows(0), source.rows(1));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRowsExist(const proto::DataSource& source, int64_t rows) {
  if (source.rows_size() == 2 && source.rows(0) >= 0 && source.rows(0) < source.rows(1) &&
      source.rows(1) <= rows) {
    return absl::OkStatus();
  }
  if (source.rows_size() != 2) return absl::InvalidArgumentError("rows are not two numbers");
  return absl::InvalidArgumentError(absl::StrCat("\"rows\": ", job::RowsText(source),
                                                 " are not among the ", rows,
                                                 " rows of the data; the end is at most ", rows));
}

const std::vector<DataReader>& DataReaders() {
  static const auto* const readers = new std::vector<DataReader>{
      {"idx", ReadArrayFiles<ReadIdxFile>},
      {"npy", ReadArrayFiles<ReadNpyFile>},
      {.name = "csv", .read = ReadCsv, .inspect = InspectCsv},
      {"cifar10", ReadCifar10},
      {"cifar100", ReadCifar100},
      {"tfrecord", ReadTfrecord},
      {"npz", ReadNpz},
      {"images", ReadImages, ListImages, InspectImages},
      {"parquet", ReadParquet, ListParquet, InspectParquet},
      {"text", ReadText, ListText, InspectText},
  };
  return *readers;
}

absl::StatusOr<SourceFiles> ListFiles(const proto::DataSource& source, const nn::Model& model,
                                      bool needs_labels) {
  CAIRN_ASSIGN_OR_RETURN(const DataReader* const reader, ReaderOf(source));
  proto::DataSource copy = source;
  const job::FileLists lists = job::FormatOf(source)->lists(&copy);
  // Files of whole examples are one list, whatever the model's inputs are.
  const bool has_arrays = lists.labels != nullptr;
  SourceFiles files;
  CAIRN_ASSIGN_OR_RETURN(files.features,
                         ListParts(*lists.features, has_arrays ? model.inputs().size() : 1));
  if (reader->list != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(files.features[0],
                           reader->list(source, files.features[0], needs_labels));
  }
  if (has_arrays) {
    CAIRN_ASSIGN_OR_RETURN(files.labels, ListParts(*lists.labels, model.outputs().size()));
  }
  if (source.sample_weight().empty()) return files;
  const Files weights(source.sample_weight().begin(), source.sample_weight().end());
  CAIRN_ASSIGN_OR_RETURN(files.weights, ExpandFileNames(weights));
  return files;
}

absl::StatusOr<std::vector<uint64_t>> FingerprintFiles(const SourceFiles& files) {
  return ReadAll<uint64_t>(files.All(), FileFingerprint);
}

absl::Status InspectSource(const proto::DataSource& train, const SourceFiles& files,
                           const ChooseTrainingRows& choose, proto::DataPlan* plan) {
  CAIRN_ASSIGN_OR_RETURN(const DataReader* const reader, ReaderOf(train));
  return reader->inspect == nullptr ? absl::OkStatus()
                                    : reader->inspect(train, files, choose, plan);
}

absl::StatusOr<SourceArrays> ReadSource(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const DataReader* const reader, ReaderOf(request.source));
  CAIRN_ASSIGN_OR_RETURN(SourceArrays arrays, reader->read(request));
  const Files& weights = request.files.weights;
  if (!weights.empty()) {
    CAIRN_ASSIGN_OR_RETURN(arrays.weights, ReadArrays(weights, ReadNpyFile, request.storage));
  }
  CAIRN_RETURN_IF_ERROR(SelectRows(request.source, &arrays));
  return arrays;
}

}  // namespace cairn::worker
