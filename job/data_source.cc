#include "job/data_source.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/data_formats/csv_format.h"

namespace cairn::job {

namespace {

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename List>
absl::Status CheckFileList(const std::string& path, const List& files, const char* example) {
  if (files.empty()) return Bad(path, ": is missing; for example ", example);
  for (const std::string& file : files) {
    if (file.empty()) return Bad(path, ": \"\" is not the name of a file");
  }
  return absl::OkStatus();
}

template <typename Source>
absl::Status CheckArrays(const std::string& path, const Source& source) {
  CAIRN_RETURN_IF_ERROR(
      CheckFileList(path + ".features", source.features(), R"("features": "x.npy")"));
  return CheckFileList(path + ".labels", source.labels(), R"("labels": "y.npy")");
}

absl::Status CheckCifar100(const std::string& path, const proto::Cifar100Source& source) {
  CAIRN_RETURN_IF_ERROR(CheckFileList(path + ".files", source.files(), R"("files": "train.bin")"));
  if (!source.has_labels() || source.labels() == "fine" || source.labels() == "coarse") {
    return absl::OkStatus();
  }
  return Bad(path, ".labels: \"", source.labels(), "\" is not one of fine, coarse");
}

absl::Status CheckCsv(const std::string& path, const proto::CsvSource& source) {
  CAIRN_RETURN_IF_ERROR(
      CheckFileList(path + ".files", source.files(), R"("files": "train-*.csv")"));
  return CheckCsvColumns(path, source);
}

absl::Status CheckFormat(const std::string& path, const proto::DataSource& source) {
  switch (source.format_case()) {
    case proto::DataSource::kIdx:
      return CheckArrays(path + ".idx", source.idx());
    case proto::DataSource::kNpy:
      return CheckArrays(path + ".npy", source.npy());
    case proto::DataSource::kCsv:
      return CheckCsv(path + ".csv", source.csv());
    case proto::DataSource::kCifar10:
      return CheckFileList(path + ".cifar10.files", source.cifar10().files(),
                           R"("files": "data_batch_*.bin")");
    case proto::DataSource::kCifar100:
      return CheckCifar100(path + ".cifar100", source.cifar100());
    case proto::DataSource::FORMAT_NOT_SET:
      break;
  }
  return Bad(path, ": says no format (", kDataFormats,
             R"(); for example {"npy": {"features": "x.npy", "labels": "y.npy"}})");
}

absl::Status CheckSource(const std::string& path, const proto::DataSource& source) {
  if (source.has_scale() && !std::isfinite(source.scale())) {
    return Bad(path, ".scale: ", source.scale(), " is not a finite number");
  }
  if (!source.sample_weight().empty()) {
    CAIRN_RETURN_IF_ERROR(CheckFileList(path + ".sample_weight", source.sample_weight(), ""));
  }
  return CheckFormat(path, source);
}

absl::Status CheckFraction(const proto::Job& job) {
  if (!job.has_validation_fraction()) {
    if (!job.has_validation_choice()) return absl::OkStatus();
    return Bad(
        "validation_choice: says which rows \"validation_fraction\" takes, which is missing");
  }
  if (job.has_validation()) {
    return Bad("validation_fraction: stands beside \"validation\"; keep one of them");
  }
  const double fraction = job.validation_fraction();
  if (!(fraction > 0 && fraction < 1)) {
    return Bad("validation_fraction: ", fraction, " is not above 0 and below 1");
  }
  const std::string& choice = job.validation_choice();
  if (!job.has_validation_choice() || choice == "last" || choice == "random") {
    return absl::OkStatus();
  }
  return Bad("validation_choice: \"", choice, "\" is not one of last, random");
}

absl::Status CheckShuffle(const proto::Job& job) {
  if (!job.has_shuffle_block()) return absl::OkStatus();
  if (job.shuffle_block() < 1) {
    return Bad("shuffle_block: ", job.shuffle_block(), " is not a whole number of 1 or more");
  }
  if (job.has_shuffle() && !job.shuffle()) {
    return Bad("shuffle_block: ", job.shuffle_block(),
               " says how to shuffle, \"shuffle\" says not to");
  }
  return absl::OkStatus();
}

absl::Status CheckInputs(const std::string& path, const proto::DataSource& source,
                         const nn::Model& model) {
  const int inputs = static_cast<int>(model.inputs().size());
  if (source.has_csv()) return CheckCsvInputs(path + ".csv", source.csv(), model);
  if (inputs == 1) return absl::OkStatus();
  if (source.has_cifar10() || source.has_cifar100()) {
    return Bad(path, ": the model has ", inputs, " inputs, CIFAR's images are one");
  }
  const int files = source.has_idx() ? source.idx().features_size() : source.npy().features_size();
  if (files == inputs) return absl::OkStatus();
  return Bad(path, source.has_idx() ? ".idx" : ".npy", ".features: names ", files,
             files == 1 ? " file" : " files", ", the model has ", inputs,
             " inputs; one file, or pattern, per input");
}

absl::Status CheckOutputs(const std::string& path, const proto::DataSource& source,
                          const nn::Model& model) {
  const int outputs = static_cast<int>(model.outputs().size());
  if (source.has_csv()) CAIRN_RETURN_IF_ERROR(CheckCsvOutputs(path + ".csv", source.csv(), model));
  if (outputs == 1) return absl::OkStatus();
  if (source.one_hot()) {
    return Bad(path, ".one_hot: the model has ", outputs,
               " outputs; say which of them have vectors: {\"", model.outputs()[0].name,
               "\": true}");
  }
  if (source.has_csv()) return absl::OkStatus();
  if (source.has_cifar10() || source.has_cifar100()) {
    return Bad(path, ": the model has ", outputs, " outputs, CIFAR has labels for one");
  }
  const int files = source.has_idx() ? source.idx().labels_size() : source.npy().labels_size();
  if (files == outputs) return absl::OkStatus();
  return Bad(path, source.has_idx() ? ".idx" : ".npy", ".labels: names ", files,
             files == 1 ? " file" : " files", ", the model has ", outputs,
             " outputs; one file, or pattern, per output");
}

absl::Status CheckSourceFits(const std::string& path, const proto::DataSource& source,
                             const nn::Model& model) {
  CAIRN_RETURN_IF_ERROR(CheckInputs(path, source, model));
  return CheckOutputs(path, source, model);
}

template <typename List>
void AddFiles(const std::string& path, List* files, std::vector<DataFile>* result) {
  for (int i = 0; i < files->size(); ++i) {
    result->push_back({absl::StrCat(path, "[", i, "]"), files->Mutable(i)});
  }
}

template <typename Source>
void AddArrays(const std::string& path, Source* source, std::vector<DataFile>* result) {
  AddFiles(path + ".features", source->mutable_features(), result);
  AddFiles(path + ".labels", source->mutable_labels(), result);
}

}  // namespace

absl::Status CheckJobData(const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(CheckSource("train", job.train()));
  if (job.has_validation()) {
    if (job.validation().standardize() && !job.train().standardize()) {
      return Bad("validation.standardize: is the training data's to say; set it in \"train\"");
    }
    CAIRN_RETURN_IF_ERROR(CheckSource("validation", ValidationSource(job)));
  }
  CAIRN_RETURN_IF_ERROR(CheckFraction(job));
  return CheckShuffle(job);
}

absl::Status CheckDataFitsModel(const proto::Job& job, const nn::Model& model) {
  CAIRN_RETURN_IF_ERROR(CheckSourceFits("train", job.train(), model));
  if (!job.has_validation()) return absl::OkStatus();
  return CheckSourceFits("validation", ValidationSource(job), model);
}

std::vector<DataFile> FilesOf(const std::string& path, proto::DataSource* source) {
  std::vector<DataFile> files;
  if (source->has_idx()) AddArrays(path + ".idx", source->mutable_idx(), &files);
  if (source->has_npy()) AddArrays(path + ".npy", source->mutable_npy(), &files);
  if (source->has_csv())
    AddFiles(path + ".csv.files", source->mutable_csv()->mutable_files(), &files);
  if (source->has_cifar10()) {
    AddFiles(path + ".cifar10.files", source->mutable_cifar10()->mutable_files(), &files);
  }
  if (source->has_cifar100()) {
    AddFiles(path + ".cifar100.files", source->mutable_cifar100()->mutable_files(), &files);
  }
  AddFiles(path + ".sample_weight", source->mutable_sample_weight(), &files);
  return files;
}

bool IsOneHot(const proto::DataSource& source, const std::string& output) {
  return source.one_hot() || absl::c_linear_search(source.one_hot_outputs(), output);
}

std::string FormatName(const proto::DataSource& source) {
  const auto* format = source.GetReflection()->GetOneofFieldDescriptor(
      source, source.GetDescriptor()->FindOneofByName("format"));
  return format == nullptr ? "" : format->name();
}

proto::DataSource ValidationSource(const proto::Job& job) {
  const proto::DataSource& train = job.train();
  proto::DataSource source = job.validation();
  source.set_standardize(train.standardize());
  if (!source.has_one_hot() && source.one_hot_outputs().empty()) {
    if (train.one_hot()) source.set_one_hot(true);
    *source.mutable_one_hot_outputs() = train.one_hot_outputs();
  }
  if (!source.has_allow_nan() && train.allow_nan()) source.set_allow_nan(true);
  if (source.has_cifar100() && !source.cifar100().has_labels() && train.cifar100().has_labels()) {
    source.mutable_cifar100()->set_labels(train.cifar100().labels());
  }
  if (!source.has_csv() || !train.has_csv()) return source;
  proto::CsvSource& csv = *source.mutable_csv();
  if (csv.features().empty() && csv.labels().empty()) {
    *csv.mutable_features() = train.csv().features();
    *csv.mutable_labels() = train.csv().labels();
  }
  if (csv.missing().empty()) *csv.mutable_missing() = train.csv().missing();
  if (!csv.has_header() && train.csv().has_header()) csv.set_header(train.csv().header());
  if (!csv.has_delimiter() && train.csv().has_delimiter()) {
    csv.set_delimiter(train.csv().delimiter());
  }
  return source;
}

}  // namespace cairn::job
