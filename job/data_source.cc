#include "job/data_source.h"

#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "job/data_formats/cifar_formats.h"
#include "job/data_formats/csv_format.h"
#include "job/data_formats/images_format.h"
#include "job/data_formats/npz_format.h"
#include "job/data_formats/parquet_format.h"
#include "job/data_formats/text_format.h"
#include "job/data_formats/tfrecord_format.h"
#include "job/data_pipeline.h"
#include "job/model_objectives.h"
#include "job/value_steps.h"
#include "nn/text_input.h"

namespace cairn::job {

namespace {

template <typename List>
absl::Status CheckFileList(const std::string& path, const List& files, const std::string& example) {
  if (files.empty()) return Invalid(path, ": is missing; for example ", example);
  for (const std::string& file : files) {
    if (file.empty()) return Invalid(path, ": \"\" is not the name of a file");
  }
  return absl::OkStatus();
}

absl::Status CheckFormat(const std::string& source_path, const proto::DataSource& source,
                         bool needs_labels) {
  const DataFormat* format = FormatOf(source);
  if (format == nullptr) {
    return Invalid(source_path, ": has no format (", DataFormatNames(),
                   R"(); for example {"npy": {"features": "x.npy", "labels": "y.npy"}})");
  }
  const std::string path = absl::StrCat(source_path, ".", format->name);
  proto::DataSource copy = source;
  const FileLists lists = format->lists(&copy);
  const auto check_list = [&](const char* field, const FileNames& files, const char* example) {
    return CheckFileList(absl::StrCat(path, ".", field), files,
                         absl::StrCat("\"", field, "\": \"", example, "\""));
  };
  CAIRN_RETURN_IF_ERROR(check_list(lists.field, *lists.features, format->file_example));
  if (lists.labels != nullptr && (needs_labels || !lists.labels->empty())) {
    CAIRN_RETURN_IF_ERROR(check_list("labels", *lists.labels, format->labels_example));
  }
  return format->check == nullptr ? absl::OkStatus() : format->check(path, source, needs_labels);
}

// "csv, tfrecord and images": the formats with this property, of which there is one or more.
std::string NamesOfFormats(bool DataFormat::*property) {
  std::vector<std::string> names;
  for (const DataFormat& each : DataFormats()) {
    if (each.*property) names.emplace_back(each.name);
  }
  const std::string last = std::move(names.back());
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), names.empty() ? "" : " and ", last);
}

absl::Status CheckSkipping(const std::string& path, const proto::DataSource& source) {
  if (source.skip_damaged() < 0) {
    return Invalid(path, ".skip_damaged: ", source.skip_damaged(), " is below 0");
  }
  if (source.skip_damaged() == 0) return absl::OkStatus();
  // In the other formats a damaged record cannot be told from its neighbors, except by numbers that
  // are not finite.
  const DataFormat* format = FormatOf(source);
  if (format != nullptr && !format->skips_damaged) {
    return Invalid(
        path, ".skip_damaged: is for ", NamesOfFormats(&DataFormat::skips_damaged),
        " only, not for ", format->name,
        "; with \"allow_nan\": true the batches with numbers that are not finite are left "
        "out (see \"on_non_finite\")");
  }
  if (source.sample_weight().empty()) return absl::OkStatus();
  return Invalid(
      path,
      ".skip_damaged: conflicts with \"sample_weight\", which has a weight for each row; keep "
      "one of them");
}

absl::Status CheckRows(const std::string& path, const proto::DataSource& source) {
  if (source.rows().empty()) return absl::OkStatus();
  if (source.rows_size() != 2) {
    return Invalid(path, ".rows: has ", source.rows_size(),
                   source.rows_size() == 1 ? " number" : " numbers",
                   "; say the first row and the one after the last: [0, 50000]");
  }
  if (source.rows(0) < 0 || source.rows(1) <= source.rows(0)) {
    return Invalid(path, ".rows: ", RowsText(source),
                   " are no rows; the first is 0 or more, and the end is above it");
  }
  if (source.skip_damaged() == 0) return absl::OkStatus();
  return Invalid(path,
                 ".rows: conflicts with \"skip_damaged\", which changes the numbers of the "
                 "rows; keep one of them");
}

// Of a step that takes a source itself or each source of a mixture.
template <typename Check>
absl::Status ForEachSource(const std::string& path, const proto::DataSource& source, Check check) {
  if (source.mix().empty()) return check(path, source);
  const std::vector<proto::DataSource> sources = SourcesOf(source);
  for (size_t i = 0; i < sources.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(check(absl::StrCat(path, ".mix[", i, "].source"), sources[i]));
  }
  return absl::OkStatus();
}

// The first field that is set, and is none of `allowed`; empty if there is none.
std::string OtherField(const proto::DataSource& source, const std::vector<std::string>& allowed) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  source.GetReflection()->ListFields(source, &fields);
  for (const auto* field : fields) {
    // A flag may be set to its default.
    const bool is_off = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_BOOL &&
                        !source.GetReflection()->GetBool(source, field);
    if (!is_off && !absl::c_linear_search(allowed, field->name())) return field->name();
  }
  return "";
}

// Each example is found by a search through the sources (worker/data/mixture.h).
constexpr int kMixedMost = 100;

absl::Status CheckMix(const std::string& path, const proto::DataSource& source) {
  const std::string other =
      OtherField(source, {"mix", "one_hot", "one_hot_outputs", "drop_remainder", "standardize"});
  if (!other.empty()) {
    return Invalid(path, ".", other,
                   ": stands beside \"mix\"; set it in the sources of the mixture");
  }
  if (source.mix_size() > kMixedMost) {
    return Invalid(path, ".mix: has ", source.mix_size(), " sources, at most ", kMixedMost);
  }
  for (int i = 0; i < source.mix_size(); ++i) {
    const proto::MixedSource& mixed = source.mix(i);
    const std::string at = absl::StrCat(path, ".mix[", i, "]");
    if (!mixed.has_source()) {
      return Invalid(at,
                     ".source: is missing; for example "
                     R"({"npy": {"features": "x.npy", "labels": "y.npy"}})");
    }
    for (const char* const field :
         {"mix", "one_hot", "one_hot_outputs", "drop_remainder", "standardize"}) {
      const auto* const member = mixed.source().GetDescriptor()->FindFieldByName(field);
      const auto* const reflection = mixed.source().GetReflection();
      const bool is_set = member->is_repeated() ? reflection->FieldSize(mixed.source(), member) > 0
                                                : reflection->HasField(mixed.source(), member);
      if (!is_set) continue;
      return Invalid(
          at, ".source.", absl::string_view(field) == "one_hot_outputs" ? "one_hot" : field,
          ": is not for a source of a mixture",
          absl::string_view(field) == "standardize" ? "; use \"scale\", or a layer of the model"
          : absl::string_view(field) == "mix"       ? "; list all sources in one"
                                                    : "; set it beside \"mix\"");
    }
    for (int j = 0; j < mixed.source().pipeline_size(); ++j) {
      if (!IsMeasured(mixed.source().pipeline(j))) continue;
      return Invalid(at, ".source.pipeline[", j,
                     "].normalize: has no \"mean\" and \"deviation\", which all sources of a "
                     "mixture share; give numbers");
    }
    if (mixed.has_weight() != source.mix(0).has_weight()) {
      return Invalid(at, ".weight: all sources have weights, or none");
    }
    if (!mixed.has_weight() || (std::isfinite(mixed.weight()) && mixed.weight() > 0)) continue;
    return Invalid(at, ".weight: ", mixed.weight(), " is not a finite number above 0");
  }
  return absl::OkStatus();
}

absl::Status CheckPlainSource(const std::string& path, const proto::DataSource& source,
                              bool needs_labels) {
  if (source.has_scale() && !std::isfinite(source.scale())) {
    return Invalid(path, ".scale: ", source.scale(), " is not a finite number");
  }
  if (!source.sample_weight().empty()) {
    CAIRN_RETURN_IF_ERROR(CheckFileList(path + ".sample_weight", source.sample_weight(), ""));
  }
  CAIRN_RETURN_IF_ERROR(CheckSkipping(path, source));
  CAIRN_RETURN_IF_ERROR(CheckRows(path, source));
  CAIRN_RETURN_IF_ERROR(CheckFormat(path, source, needs_labels));
  return CheckPipeline(path, source, FormatOf(source));
}

absl::Status CheckSource(const std::string& path, const proto::DataSource& source,
                         bool needs_labels = true) {
  if (!source.mix().empty()) CAIRN_RETURN_IF_ERROR(CheckMix(path, source));
  return ForEachSource(path, source, [&](const std::string& at, const proto::DataSource& each) {
    return CheckPlainSource(at, each, needs_labels);
  });
}

absl::Status CheckFraction(const proto::Job& job) {
  if (!job.has_validation_fraction()) {
    if (!job.has_validation_choice()) return absl::OkStatus();
    return Invalid("validation_choice: has no meaning without \"validation_fraction\"");
  }
  if (job.has_validation()) {
    return Invalid("validation_fraction: conflicts with \"validation\"; keep one of them");
  }
  if (!job.train().mix().empty()) {
    return Invalid(
        "validation_fraction: is not for a mixture; describe the data by \"validation\"");
  }
  const double fraction = job.validation_fraction();
  if (!(fraction > 0 && fraction < 1)) {
    return Invalid("validation_fraction: ", fraction, " is not above 0 and below 1");
  }
  const std::string& choice = job.validation_choice();
  const bool is_by_class = job.train().has_images() && job.train().images().table().empty();
  if (is_by_class && choice != "random") {
    return Invalid(
        "validation_choice: \"random\" is needed: the rows of \"images\" are in the order "
        "of their classes");
  }
  if (!job.has_validation_choice() || choice == "last" || choice == "random") {
    return absl::OkStatus();
  }
  return Invalid("validation_choice: \"", choice, "\" is not one of last, random");
}

absl::Status CheckShuffle(const proto::Job& job) {
  if (!job.has_shuffle_block()) return absl::OkStatus();
  if (job.shuffle_block() < 1) {
    return Invalid("shuffle_block: ", job.shuffle_block(), " is not a whole number of 1 or more");
  }
  if (job.has_shuffle() && !job.shuffle()) {
    return Invalid("shuffle_block: ", job.shuffle_block(), " conflicts with \"shuffle\": false");
  }
  return absl::OkStatus();
}

// `kind` is "input" or "output".
absl::Status CheckFileCount(const std::string& path, int files, size_t count, const char* kind) {
  if (count == 1 || static_cast<size_t>(files) == count) return absl::OkStatus();
  return Invalid(path, ": names ", files, files == 1 ? " file" : " files", ", the model has ",
                 count, " ", kind, "s; one file, or pattern, per ", kind);
}

absl::Status CheckSourceFits(const std::string& source_path, const proto::DataSource& source,
                             const nn::Model& model) {
  const DataFormat& format = *FormatOf(source);
  const std::string path = absl::StrCat(source_path, ".", format.name);
  proto::DataSource copy = source;
  if (const FileLists lists = format.lists(&copy); lists.labels != nullptr) {
    CAIRN_RETURN_IF_ERROR(
        CheckFileCount(path + ".features", lists.features->size(), model.inputs().size(), "input"));
    CAIRN_RETURN_IF_ERROR(
        CheckFileCount(path + ".labels", lists.labels->size(), model.outputs().size(), "output"));
  }
  if (format.check_model != nullptr) {
    CAIRN_RETURN_IF_ERROR(format.check_model(path, source, model));
  }
  CAIRN_RETURN_IF_ERROR(CheckPipelineFitsModel(source_path, source, model));
  if (!format.has_text && nn::TakesText(model)) {
    return Invalid(path, ": the model has an input of text (dtype string), which only ",
                   NamesOfFormats(&DataFormat::has_text), " has");
  }
  if (model.outputs().size() == 1 || !source.one_hot()) return absl::OkStatus();
  return Invalid(source_path, ".one_hot: the model has ", model.outputs().size(),
                 " outputs; name those with vectors: {\"", model.outputs()[0].name, "\": true}");
}

void AddFiles(const std::string& path, FileNames* files, std::vector<DataFile>* result) {
  for (int i = 0; i < files->size(); ++i) {
    result->push_back({absl::StrCat(path, "[", i, "]"), files->Mutable(i)});
  }
}

}  // namespace

absl::Status CheckJobData(const proto::Job& job) {
  if (!job.train().mix().empty() && job.train().standardize()) {
    return Invalid(
        "train.standardize: is not for a mixture; use \"scale\" in its sources, or a layer of the "
        "model");
  }
  // Training without labels is for objectives of several models.
  CAIRN_RETURN_IF_ERROR(CheckSource("train", job.train(), !HasModels(job) || UsesLabels(job)));
  if (job.has_validation()) {
    if (job.validation().standardize() && !job.train().standardize()) {
      return Invalid("validation.standardize: belongs to the training data; set it in \"train\"");
    }
    if (absl::c_any_of(job.validation().pipeline(), IsMeasured) &&
        !absl::c_any_of(job.train().pipeline(), IsMeasured)) {
      return Invalid(
          "validation.pipeline: \"normalize\" without numbers takes those of the training data; "
          "set it in \"train\", too");
    }
    if (job.validation().drop_remainder()) {
      return Invalid(
          "validation.drop_remainder: an evaluation counts each example; set it in "
          "\"train\", or choose examples by \"rows\"");
    }
    CAIRN_RETURN_IF_ERROR(CheckSource("validation", ValidationSource(job)));
  }
  CAIRN_RETURN_IF_ERROR(CheckFraction(job));
  return CheckShuffle(job);
}

absl::Status CheckDataFitsModel(const proto::Job& job, const nn::Model& model) {
  const auto check = [&model](const std::string& path, const proto::DataSource& source) {
    return CheckSourceFits(path, source, model);
  };
  CAIRN_RETURN_IF_ERROR(ForEachSource("train", job.train(), check));
  if (!job.has_validation()) return absl::OkStatus();
  return ForEachSource("validation", ValidationSource(job), check);
}

std::vector<DataFile> FilesOf(const std::string& path, proto::DataSource* source) {
  std::vector<DataFile> files;
  for (int i = 0; i < source->mix_size(); ++i) {
    for (const DataFile& file : FilesOf(absl::StrCat(path, ".mix[", i, "].source"),
                                        source->mutable_mix(i)->mutable_source())) {
      files.push_back(file);
    }
  }
  if (const DataFormat* format = FormatOf(*source)) {
    const std::string field = absl::StrCat(path, ".", format->name, ".");
    const FileLists lists = format->lists(source);
    AddFiles(field + lists.field, lists.features, &files);
    if (lists.labels != nullptr) AddFiles(field + "labels", lists.labels, &files);
  }
  AddFiles(path + ".sample_weight", source->mutable_sample_weight(), &files);
  return files;
}

std::string RowsText(const proto::DataSource& source) {
  return absl::StrCat("[", source.rows(0), ", ", source.rows(1), "]");
}

bool IsOneHot(const proto::DataSource& source, const std::string& output) {
  return source.one_hot() || absl::c_linear_search(source.one_hot_outputs(), output);
}

const std::vector<DataFormat>& DataFormats() {
  static const auto* const formats = new std::vector<DataFormat>{
      {.name = "idx",
       .lists = [](proto::DataSource* source) { return ArrayFiles(source->mutable_idx()); },
       .file_example = "x.idx",
       .labels_example = "y.idx",
       .filters = RowFilters::kArrays},
      {.name = "npy",
       .lists = [](proto::DataSource* source) { return ArrayFiles(source->mutable_npy()); },
       .extensions = {".npy"},
       .file_example = "x.npy",
       .labels_example = "y.npy",
       .filters = RowFilters::kArrays},
      CsvFormat(),
      Cifar10Format(),
      Cifar100Format(),
      TfrecordFormat(),
      NpzFormat(),
      ImagesFormat(),
      ParquetFormat(),
      TextFormat(),
  };
  return *formats;
}

const DataFormat* FormatOf(const proto::DataSource& source) {
  const auto* member = source.GetReflection()->GetOneofFieldDescriptor(
      source, source.GetDescriptor()->FindOneofByName("format"));
  if (member == nullptr) return nullptr;
  const auto format = absl::c_find_if(
      DataFormats(), [&](const DataFormat& each) { return each.name == member->name(); });
  return format == DataFormats().end() ? nullptr : &*format;
}

std::string DataFormatNames() {
  return absl::StrJoin(DataFormats(), ", ", [](std::string* text, const DataFormat& format) {
    absl::StrAppend(text, format.name);
  });
}

void ReplaceFiles(const std::vector<std::string>& files, proto::DataSource* source) {
  const FileLists lists = FormatOf(*source)->lists(source);
  lists.features->Assign(files.begin(), files.end());
  if (lists.labels != nullptr) lists.labels->Clear();
  source->clear_sample_weight();
  source->clear_rows();
  RemoveChoices(source);
}

std::vector<proto::DataSource> SourcesOf(const proto::DataSource& source) {
  if (source.mix().empty()) return {source};
  std::vector<proto::DataSource> sources;
  for (const proto::MixedSource& mixed : source.mix()) {
    proto::DataSource& each = sources.emplace_back(mixed.source());
    if (source.one_hot()) each.set_one_hot(true);
    if (source.standardize()) each.set_standardize(true);
    *each.mutable_one_hot_outputs() = source.one_hot_outputs();
  }
  return sources;
}

proto::DataSource TemplateOf(const proto::DataSource& source) { return SourcesOf(source)[0]; }

proto::DataSource ValidationSource(const proto::Job& job) {
  const proto::DataSource train = TemplateOf(job.train());
  proto::DataSource source = job.validation();
  source.set_standardize(train.standardize());
  if (!source.has_one_hot() && source.one_hot_outputs().empty()) {
    if (train.one_hot()) source.set_one_hot(true);
    *source.mutable_one_hot_outputs() = train.one_hot_outputs();
  }
  if (!source.mix().empty()) return source;
  if (!source.has_allow_nan() && train.allow_nan()) source.set_allow_nan(true);
  if (source.pipeline().empty()) {
    *source.mutable_pipeline() = train.pipeline();
    RemoveChoices(&source);
  } else if (absl::c_none_of(source.pipeline(), ChangesValues)) {
    // Steps that choose examples do not say how their values are changed.
    for (const proto::PipelineStep& step : train.pipeline()) {
      if (ChangesValues(step)) *source.add_pipeline() = step;
    }
  }
  const DataFormat* format = FormatOf(source);
  if (format != nullptr && format == FormatOf(train) && format->inherit != nullptr) {
    format->inherit(train, &source);
  }
  return source;
}

}  // namespace cairn::job
