#include "worker/data/source_arrays.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "job/data_source.h"
#include "worker/data/cifar_file.h"
#include "worker/data/csv/csv_encoder.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/csv/csv_survey.h"
#include "worker/data/files/file_list.h"
#include "worker/data/files/load_file.h"
#include "worker/data/idx_file.h"
#include "worker/data/npy_file.h"

namespace cairn::worker {
namespace {

using Files = std::vector<std::string>;

constexpr size_t kReadersMax = 8;

// The number of threads that read this number of files.
int ReadersOf(size_t files) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(std::min({files, kReadersMax, cores}));
}

// Calls read(file) for each file, several in parallel.
template <typename T>
std::vector<absl::StatusOr<T>> ReadEach(
    const Files& files, const std::function<absl::StatusOr<T>(const std::string&)>& read) {
  std::vector<absl::StatusOr<T>> results(files.size(), absl::UnknownError("not read"));
  const auto read_one = [&](size_t i) {
    try {
      results[i] = read(files[i]);
    } catch (const std::bad_alloc&) {
      results[i] = absl::ResourceExhaustedError(
          absl::StrCat("data file ", files[i], ": it does not fit into this worker's memory"));
    }
  };
  const int threads = ReadersOf(files.size());
  if (threads <= 1) {
    for (size_t i = 0; i < files.size(); ++i) read_one(i);
  } else {
    // The pool's destructor waits for all tasks.
    ThreadPool pool(threads, "data files", files.size());
    for (size_t i = 0; i < files.size(); ++i) pool.Submit([&read_one, i] { read_one(i); });
  }
  return results;
}

// The first error in the files' order.
template <typename T>
absl::StatusOr<std::vector<T>> AllOf(std::vector<absl::StatusOr<T>> results) {
  std::vector<T> values;
  for (absl::StatusOr<T>& result : results) {
    CAIRN_ASSIGN_OR_RETURN(T value, std::move(result));
    values.push_back(std::move(value));
  }
  return values;
}

template <typename T>
absl::StatusOr<std::vector<T>> ReadAll(
    const Files& files, const std::function<absl::StatusOr<T>(const std::string&)>& read) {
  return AllOf(ReadEach(files, read));
}

absl::Status Join(const Array& next, Array* all) {
  if (all->rows() > 0) return next.rows() > 0 ? all->Append(next) : absl::OkStatus();
  *all = next;
  return absl::OkStatus();
}

using ReadArray = absl::StatusOr<Array> (*)(std::shared_ptr<const FileBytes> file);

absl::StatusOr<Array> ReadArrays(const Files& files, ReadArray read, DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<Array> arrays,
      ReadAll<Array>(files, [=](const std::string& path) -> absl::StatusOr<Array> {
        CAIRN_ASSIGN_OR_RETURN(auto file, LoadFile(path, storage));
        return read(std::move(file));
      }));
  Array all = arrays[0];
  for (size_t i = 1; i < arrays.size(); ++i) CAIRN_RETURN_IF_ERROR(Join(arrays[i], &all));
  return all;
}

absl::StatusOr<SourceArrays> ReadPairs(const SourceFiles& files, ReadArray read,
                                       DataStorage* storage) {
  SourceArrays result;
  for (const Files& output : files.labels) {
    CAIRN_ASSIGN_OR_RETURN(result.labels.emplace_back(), ReadArrays(output, read, storage));
  }
  for (const Files& input : files.features) {
    CAIRN_ASSIGN_OR_RETURN(result.inputs.emplace_back(), ReadArrays(input, read, storage));
  }
  return result;
}

absl::StatusOr<SourceArrays> ReadCifar(const Files& files, const CifarKind& kind,
                                       DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<CifarArrays> arrays,
      ReadAll<CifarArrays>(files, [&](const std::string& path) -> absl::StatusOr<CifarArrays> {
        CAIRN_ASSIGN_OR_RETURN(auto file, LoadFile(path, storage));
        return ReadCifarFile(std::move(file), kind);
      }));
  SourceArrays result;
  result.inputs.resize(1);
  result.labels.resize(1);
  for (const CifarArrays& one : arrays) {
    CAIRN_RETURN_IF_ERROR(Join(one.images, &result.inputs[0]));
    CAIRN_RETURN_IF_ERROR(Join(one.labels, &result.labels[0]));
  }
  return result;
}

// The source with all its columns named.
absl::StatusOr<proto::DataSource> WithColumns(const proto::DataSource& source, const Files& files,
                                              const proto::DataPlan& plan, bool with_labels) {
  proto::DataSource named = source;
  proto::CsvSource& csv = *named.mutable_csv();
  if (csv.features().empty()) {
    std::vector<std::string> columns(plan.csv_features().begin(), plan.csv_features().end());
    if (columns.empty()) {
      CAIRN_ASSIGN_OR_RETURN(columns, ReadCsvColumns(files[0], csv));
    }
    csv = WithAllColumns(csv, columns);
  }
  if (!with_labels) csv.clear_labels();
  return named;
}

// Joins the problems of the columns and of the files into one message.
absl::Status JoinProblems(std::vector<std::string> problems,
                          const std::vector<absl::StatusOr<CsvEncoder::Arrays>>& files) {
  constexpr size_t kShown = 5;
  for (const auto& file : files) {
    if (file.ok()) continue;
    if (!absl::IsInvalidArgument(file.status())) return file.status();
    problems.push_back(std::string(file.status().message()));
  }
  if (problems.empty()) return absl::OkStatus();
  const size_t more = problems.size() - std::min(problems.size(), kShown);
  problems.resize(problems.size() - more);
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(problems, "; "),
                   more > 0 ? absl::StrCat("; and ", more, " more files have problems") : ""));
}

absl::StatusOr<SourceArrays> ReadCsv(const Files& files, const proto::DataSource& source,
                                     const proto::DataPlan& plan, const nn::Model& model,
                                     const std::vector<LabelSpec>& label_specs,
                                     DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const proto::DataSource named,
                         WithColumns(source, files, plan, !label_specs.empty()));
  const CsvEncoder encoder(named, plan, model, label_specs);
  // Divides the cores among the files that are read in parallel.
  const int parsers = std::max(1, ReadersOf(kReadersMax) / ReadersOf(files.size()));
  using Arrays = CsvEncoder::Arrays;
  std::vector<absl::StatusOr<Arrays>> read = ReadEach<Arrays>(
      files, [&](const std::string& path) { return encoder.ReadFile(path, parsers, storage); });
  std::vector<std::string> problems = encoder.InputProblems();
  if (source.csv().features().empty()) {
    for (std::string& problem : problems) {
      problem += " (all columns but the labels; choose by \"features\")";
    }
  }
  for (std::string& problem : encoder.LabelProblems()) problems.push_back(std::move(problem));
  CAIRN_RETURN_IF_ERROR(JoinProblems(std::move(problems), read));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Arrays> arrays, AllOf(std::move(read)));
  SourceArrays result{arrays[0].inputs, arrays[0].labels};
  for (size_t i = 1; i < arrays.size(); ++i) {
    for (size_t output = 0; output < result.labels.size(); ++output) {
      CAIRN_RETURN_IF_ERROR(Join(arrays[i].labels[output], &result.labels[output]));
    }
    for (size_t input = 0; input < result.inputs.size(); ++input) {
      CAIRN_RETURN_IF_ERROR(Join(arrays[i].inputs[input], &result.inputs[input]));
    }
  }
  return result;
}

// The files of each of `parts` inputs or outputs. If there is only one, all names are its files,
// and their rows follow each other. Otherwise each name belongs to one input or output.
absl::StatusOr<std::vector<Files>> ListParts(const Files& names, size_t parts) {
  std::vector<Files> files;
  if (names.empty()) return files;
  if (parts == 1) {
    CAIRN_ASSIGN_OR_RETURN(files.emplace_back(), ExpandFileNames(names));
    return files;
  }
  for (const std::string& name : names) {
    CAIRN_ASSIGN_OR_RETURN(files.emplace_back(), ExpandFileNames({name}));
  }
  return files;
}

template <typename Source>
absl::StatusOr<SourceFiles> ListPairs(const Source& source, const nn::Model& model) {
  SourceFiles files;
  CAIRN_ASSIGN_OR_RETURN(
      files.features,
      ListParts({source.features().begin(), source.features().end()}, model.inputs().size()));
  CAIRN_ASSIGN_OR_RETURN(files.labels, ListParts({source.labels().begin(), source.labels().end()},
                                                 model.outputs().size()));
  return files;
}

template <typename Source>
absl::StatusOr<SourceFiles> ListSingle(const Source& source) {
  SourceFiles files;
  CAIRN_ASSIGN_OR_RETURN(files.features.emplace_back(),
                         ExpandFileNames({source.files().begin(), source.files().end()}));
  return files;
}

absl::Status NoFormat() {
  return absl::InvalidArgumentError(
      absl::StrCat("the data source has none of the formats ", job::kDataFormats));
}

absl::StatusOr<SourceFiles> ListExamples(const proto::DataSource& source, const nn::Model& model) {
  switch (source.format_case()) {
    case proto::DataSource::kIdx:
      return ListPairs(source.idx(), model);
    case proto::DataSource::kNpy:
      return ListPairs(source.npy(), model);
    case proto::DataSource::kCsv:
      return ListSingle(source.csv());
    case proto::DataSource::kCifar10:
      return ListSingle(source.cifar10());
    case proto::DataSource::kCifar100:
      return ListSingle(source.cifar100());
    case proto::DataSource::FORMAT_NOT_SET:
      break;
  }
  return NoFormat();
}

absl::StatusOr<SourceArrays> ReadExamples(const proto::DataSource& source, const SourceFiles& files,
                                          const proto::DataPlan& plan, const nn::Model& model,
                                          const std::vector<LabelSpec>& label_specs,
                                          DataStorage* storage) {
  switch (source.format_case()) {
    case proto::DataSource::kIdx:
      return ReadPairs(files, ReadIdxFile, storage);
    case proto::DataSource::kNpy:
      return ReadPairs(files, ReadNpyFile, storage);
    case proto::DataSource::kCsv:
      return ReadCsv(files.features[0], source, plan, model, label_specs, storage);
    case proto::DataSource::kCifar10:
      return ReadCifar(files.features[0], kCifar10, storage);
    case proto::DataSource::kCifar100: {
      const bool coarse = source.cifar100().labels() == "coarse";
      return ReadCifar(files.features[0], coarse ? kCifar100Coarse : kCifar100Fine, storage);
    }
    case proto::DataSource::FORMAT_NOT_SET:
      break;
  }
  return NoFormat();
}

}  // namespace

absl::StatusOr<SourceFiles> ListFiles(const proto::DataSource& source, const nn::Model& model) {
  CAIRN_ASSIGN_OR_RETURN(SourceFiles files, ListExamples(source, model));
  if (source.sample_weight().empty()) return files;
  const Files weights(source.sample_weight().begin(), source.sample_weight().end());
  CAIRN_ASSIGN_OR_RETURN(files.weights, ExpandFileNames(weights));
  return files;
}

std::vector<std::string> SourceFiles::All() const {
  Files all;
  for (const Files& input : features) all.insert(all.end(), input.begin(), input.end());
  for (const Files& output : labels) all.insert(all.end(), output.begin(), output.end());
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

absl::StatusOr<std::vector<uint64_t>> FingerprintFiles(const SourceFiles& files) {
  return ReadAll<uint64_t>(files.All(), FileFingerprint);
}

absl::StatusOr<SourceArrays> ReadSource(const proto::DataSource& source, const SourceFiles& files,
                                        const proto::DataPlan& plan, const nn::Model& model,
                                        const std::vector<LabelSpec>& label_specs,
                                        DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(SourceArrays arrays,
                         ReadExamples(source, files, plan, model, label_specs, storage));
  if (files.weights.empty()) return arrays;
  CAIRN_ASSIGN_OR_RETURN(arrays.weights, ReadArrays(files.weights, ReadNpyFile, storage));
  return arrays;
}

}  // namespace cairn::worker
