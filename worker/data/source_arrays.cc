#include "worker/data/source_arrays.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/plural.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_findings.h"
#include "job/data_source.h"
#include "job/data_url.h"
#include "worker/data/cifar_file.h"
#include "worker/data/csv/csv_source.h"
#include "worker/data/files/file_list.h"
#include "worker/data/files/load_file.h"
#include "worker/data/idx_file.h"
#include "worker/data/images/image_source.h"
#include "worker/data/npy_file.h"
#include "worker/data/npz_file.h"
#include "worker/data/parquet/parquet_source.h"
#include "worker/data/remote/remote_files.h"
#include "worker/data/row_condition.h"
#include "worker/data/row_selection.h"
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

// Whether a file is only its lines: none has a header, or is an example.
bool IsOnlyLines(const proto::DataSource& source) {
  return (source.has_text() && source.text().directory().empty()) ||
         (source.has_csv() && source.csv().has_header() && !source.csv().header());
}

// As for TensorFlow's TextLineDataset and CsvDataset, an empty file just has no lines. If all are
// empty, they stay, for the error. Files at addresses stay, too: only their bytes tell.
void RemoveEmptyFiles(Files* files) {
  Files others;
  for (const std::string& name : *files) {
    // What has no size is an error when it is read.
    if (job::IsDataUrl(name) || FileSize(name).value_or(1) > 0) others.push_back(name);
  }
  if (!others.empty()) *files = std::move(others);
}

// A column of arrays: an element of their rows.
struct Element {
  const Array* array = nullptr;
  int64_t index = 0;
};

// "label", or "feature_3".
absl::StatusOr<Element> FindElement(const std::string& column, const SourceArrays& arrays) {
  const auto wrong = [&column](const auto&... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter: column \"", PrintableLine(column), "\" ", parts...));
  };
  if (column == "label") {
    if (arrays.labels.size() == 1 && arrays.labels[0].elements() == 1)
      return Element{&arrays.labels[0]};
    return wrong("is for examples with one label");
  }
  absl::string_view number = column;
  int64_t index = 0;
  if (!absl::ConsumePrefix(&number, "feature_") || !absl::SimpleAtoi(number, &index) || index < 0) {
    return wrong("is none of label, feature_0, feature_1 ...");
  }
  if (arrays.inputs.size() != 1) return wrong("is for models with one input");
  if (index < arrays.inputs[0].elements()) return Element{&arrays.inputs[0], index};
  return wrong("does not exist: the examples have ",
               Plural(arrays.inputs[0].elements(), "feature"));
}

// Writes the columns of all rows of `array` to `values`, which has the columns of a row after those
// of the row before it. Columns of other arrays stay as they are.
absl::Status ReadElements(const Array& array, const std::vector<int64_t>& indices,
                          std::vector<RowCondition::Value>* values) {
  using Value = RowCondition::Value;
  const Value::Kind float_kind = array.type() == ElementType::kFloat16   ? Value::Kind::kHalf
                                 : array.type() == ElementType::kFloat32 ? Value::Kind::kFloat
                                                                         : Value::Kind::kDouble;
  const bool is_whole = !IsFloat(array.type());
  std::vector<double> numbers(array.elements());
  std::vector<int64_t> wholes(is_whole ? array.elements() : 0);
  return array.ForEachRow([&](int64_t row, const char* bytes) {
    array.RowToDoubles(bytes, numbers.data());
    if (is_whole) array.RowToWholes(bytes, wholes.data());
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t index = indices[i];
      if (index < 0) continue;
      Value& value = (*values)[row * indices.size() + i];
      value.number = numbers[index];
      value.kind = float_kind;
      // Not a uint64 of 2^63 or more.
      if (!is_whole || (wholes[index] < 0 && numbers[index] > 0)) continue;
      value.kind = Value::Kind::kInt;
      value.whole = wholes[index];
    }
    return absl::OkStatus();
  });
}

// SourceArrays::passed, in pieces that bound the memory. Reads each array once.
absl::StatusOr<std::vector<int32_t>> PassedFilters(const RowCondition& condition,
                                                   const SourceArrays& arrays, int64_t rows) {
  const size_t columns = condition.columns().size();
  const int64_t step = std::max<int64_t>(1, 1'000'000 / static_cast<int64_t>(columns));
  // For each array with columns: the element of each column, or -1 if it is in another array.
  std::map<const Array*, std::vector<int64_t>> elements;
  for (size_t i = 0; i < columns; ++i) {
    CAIRN_ASSIGN_OR_RETURN(const Element element, FindElement(condition.columns()[i], arrays));
    elements.try_emplace(element.array, columns, -1).first->second[i] = element.index;
  }
  std::vector<RowCondition::Value> values(std::min(step, rows) * columns);
  std::vector<int32_t> passed;
  for (int64_t first = 0; first < rows; first += step) {
    const RowSelection piece = RowSelection::Range(first, std::min(rows, first + step));
    for (const auto& [array, indices] : elements) {
      CAIRN_RETURN_IF_ERROR(ReadElements(array->Select(piece), indices, &values));
    }
    for (int64_t row = 0; row < piece.examples(); ++row) {
      CAIRN_ASSIGN_OR_RETURN(passed.emplace_back(), condition.Passed(absl::MakeConstSpan(
                                                        &values[row * columns], columns)));
    }
  }
  return passed;
}

// Opens the files of the array, several in parallel.
absl::StatusOr<std::vector<int32_t>> ReadPassed(const Array& array) {
  constexpr int64_t kPieces = 64;
  std::vector<int32_t> passed(array.rows());
  CAIRN_RETURN_IF_ERROR(ReadInParallel(kPieces, [&](size_t i) {
    const auto piece = static_cast<int64_t>(i);
    return array.ForEachRow(array.FirstRowOf(piece, kPieces), array.FirstRowOf(piece + 1, kPieces),
                            [&](int64_t row, const char* bytes) {
                              array.RowToInts(bytes, &passed[row]);
                              return absl::OkStatus();
                            });
  }));
  return passed;
}

// Without `needs_labels` examples have no labels: those that a reader has returned are only for the
// filter. Arrays of different lengths stay as they are: Dataset reports them.
absl::Status SelectRows(const proto::DataSource& source, bool needs_labels, SourceArrays* arrays) {
  if (source.rows().empty() && source.pipeline().empty()) return absl::OkStatus();
  std::vector<Array*> labels;
  for (Array& label : arrays->labels) labels.push_back(&label);
  if (arrays->weights) labels.push_back(&*arrays->weights);
  std::vector<Array*> all = labels;
  for (Array& input : arrays->inputs) all.push_back(&input);
  if (all.empty()) return absl::OkStatus();
  const int64_t rows = all[0]->rows();
  for (const Array* array : all) {
    if (array->rows() != rows) return absl::OkStatus();
  }
  CAIRN_ASSIGN_OR_RETURN(const auto condition, RowCondition::Of(source));
  if (rows == 0) {
    if (condition == nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError("no row is left for which \"filter\" is true");
  }
  std::vector<int32_t> passed;
  if (arrays->passed) {
    CAIRN_ASSIGN_OR_RETURN(passed, ReadPassed(*arrays->passed));
    arrays->passed.reset();
  } else if (condition != nullptr && job::FormatOf(source)->filters == job::RowFilters::kArrays) {
    CAIRN_ASSIGN_OR_RETURN(passed, PassedFilters(*condition, *arrays, rows));
  }
  if (!needs_labels) {
    arrays->labels.clear();
    labels.clear();
    if (arrays->weights) labels.push_back(&*arrays->weights);
  }
  CAIRN_ASSIGN_OR_RETURN(const RowSelection selection,
                         RowSelection::Create(source, rows, passed, !arrays->labels.empty()));
  const RowSelection label_rows = selection.Labels();
  for (Array* array : labels) *array = array->Select(label_rows);
  for (Array& input : arrays->inputs) input = input.Select(selection);
  return absl::OkStatus();
}

absl::StatusOr<Array> ReadIdx(std::shared_ptr<const FileBytes> file, DataStorage* /*storage*/) {
  return ReadIdxFile(std::move(file));
}

}  // namespace

const std::vector<DataReader>& DataReaders() {
  static const auto* const readers = new std::vector<DataReader>{
      {"idx", ReadArrayFiles<ReadIdx>},
      {"npy", ReadArrayFiles<ReadNpyFile>},
      {.name = "csv",
       .read = ReadCsv,
       .inspect = InspectCsv,
       .search = SearchCsv,
       .survey = SurveyCsv},
      {"cifar10", ReadCifar10},
      {"cifar100", ReadCifar100},
      {.name = "tfrecord",
       .read = ReadTfrecord,
       .search = SearchTfrecord,
       .survey = SurveyTfrecord},
      {"npz", ReadNpz},
      {"images", ReadImages, ListImages, InspectImages, nullptr, SurveyImages},
      {"parquet", ReadParquet, ListParquet, nullptr, SearchParquet, SurveyParquet},
      {"text", ReadText, ListText, nullptr, SearchText, SurveyText},
  };
  return *readers;
}

absl::StatusOr<SourceFiles> ListFiles(const proto::DataSource& source, const nn::Signature& model,
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
  if (IsOnlyLines(source)) RemoveEmptyFiles(&files.features[0]);
  if (has_arrays) {
    CAIRN_ASSIGN_OR_RETURN(files.labels, ListParts(*lists.labels, model.outputs().size()));
  }
  const Files weights(source.sample_weight().begin(), source.sample_weight().end());
  CAIRN_ASSIGN_OR_RETURN(files.weights, ExpandFileNames(weights));
  // Copies that an earlier job has left may be outdated.
  for (const std::string& name : files.All()) {
    if (job::IsDataUrl(name)) RemoteFiles::OfProcess().Renew(name);
  }
  return files;
}

absl::StatusOr<std::vector<uint64_t>> FingerprintFiles(const SourceFiles& files) {
  return ReadAll<uint64_t>(files.All(), FileFingerprint);
}

absl::Status InspectSource(const proto::DataSource& train, const SourceFiles& files,
                           proto::DataPlan* plan) {
  CAIRN_ASSIGN_OR_RETURN(const DataReader* const reader, ReaderOf(train));
  return reader->inspect == nullptr ? absl::OkStatus() : reader->inspect(train, files, plan);
}

absl::StatusOr<proto::DataFindings> SearchSource(const proto::DataSource& train,
                                                 const SourceFiles& files,
                                                 const ChooseTrainingRows& choose) {
  CAIRN_ASSIGN_OR_RETURN(const DataReader* const reader, ReaderOf(train));
  if (job::OpenColumns(train).empty()) return proto::DataFindings();
  return reader->search(train, files, choose);
}

absl::Status InspectAlone(const proto::DataSource& train, const SourceFiles& files,
                          const ChooseTrainingRows& choose, proto::DataPlan* plan) {
  CAIRN_RETURN_IF_ERROR(InspectSource(train, files, plan));
  job::DataFindings all(train);
  CAIRN_ASSIGN_OR_RETURN(const proto::DataFindings found, SearchSource(train, files, choose));
  CAIRN_RETURN_IF_ERROR(all.Add(found));
  return all.Report(plan);
}

absl::StatusOr<SourceArrays> SurveySource(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const DataReader* const reader, ReaderOf(request.source));
  if (reader->survey != nullptr) return reader->survey(request);
  return absl::InvalidArgumentError(
      absl::StrCat("files of the format ", reader->name, " are not inspected in parts"));
}

absl::StatusOr<SourceArrays> ReadSource(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const DataReader* const reader, ReaderOf(request.source));
  CAIRN_ASSIGN_OR_RETURN(SourceArrays arrays, reader->read(request));
  const Files& weights = request.files.weights;
  if (!weights.empty()) {
    CAIRN_ASSIGN_OR_RETURN(arrays.weights, ReadArrays(weights, ReadNpyFile, request.storage));
  }
  CAIRN_RETURN_IF_ERROR(SelectRows(request.source, !request.label_specs.empty(), &arrays));
  return arrays;
}

}  // namespace cairn::worker
