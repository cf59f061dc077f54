#include "job/data_source.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "job/data_formats/cifar_formats.h"
#include "job/data_formats/csv_format.h"
#include "job/data_formats/images_format.h"
#include "job/data_formats/named_places.h"
#include "job/data_formats/npz_format.h"
#include "job/data_formats/parquet_format.h"
#include "job/data_formats/text_format.h"
#include "job/data_formats/tfrecord_format.h"
#include "job/data_pipeline.h"
#include "job/model_objectives.h"
#include "job/value_steps.h"

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
                         const DataNeeds& needs) {
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
  // Files of whole examples may have labels only.
  if (needs.inputs || lists.labels == nullptr) {
    CAIRN_RETURN_IF_ERROR(check_list(lists.field, *lists.features, format->file_example));
  }
  if (lists.labels != nullptr && (needs.labels || !lists.labels->empty())) {
    CAIRN_RETURN_IF_ERROR(check_list("labels", *lists.labels, format->labels_example));
  }
  return format->check == nullptr ? absl::OkStatus() : format->check(path, source, needs);
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

// Of a step that takes a source itself or each source of a mixture or a zip.
template <typename Check>
absl::Status ForEachSource(const std::string& path, const proto::DataSource& source, Check check) {
  if (source.mix().empty() && source.zip().empty()) return check(path, source);
  const char* const field = source.zip().empty() ? ".mix[" : ".zip[";
  const std::vector<proto::DataSource> sources = SourcesOf(source);
  for (size_t i = 0; i < sources.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(check(absl::StrCat(path, field, i, "].source"), sources[i]));
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
constexpr int kZippedMost = 100;

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
         {"mix", "zip", "one_hot", "one_hot_outputs", "drop_remainder", "standardize"}) {
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
          : absl::string_view(field) == "zip"       ? "; only plain sources are mixed"
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

// Whether the message of the source's format has the field, and whether it is set.
struct FormatField {
  bool exists = false;
  bool is_set = false;
};

FormatField FindInFormat(const proto::DataSource& source, const char* name) {
  const auto* const format = source.GetReflection()->GetOneofFieldDescriptor(
      source, source.GetDescriptor()->FindOneofByName("format"));
  if (format == nullptr) return {};
  const auto* const field = format->message_type()->FindFieldByName(name);
  if (field == nullptr) return {};
  const google::protobuf::Message& message = source.GetReflection()->GetMessage(source, format);
  return {true, field->is_repeated() ? message.GetReflection()->FieldSize(message, field) > 0
                                     : message.GetReflection()->HasField(message, field)};
}

// Checks that a zipped source has no fields of inputs or labels that it is not said to have.
absl::Status CheckParts(const std::string& path, const proto::ZippedSource& zipped) {
  const proto::DataSource& source = zipped.source();
  const DataFormat* const format = FormatOf(source);
  if (format == nullptr) return absl::OkStatus();  // CheckFormat reports it.
  const std::string at = absl::StrCat(path, ".source.", format->name);
  if (zipped.inputs().empty()) {
    const FormatField features = FindInFormat(source, "features");
    if (!features.exists) {
      return Invalid(path, ".inputs: is missing; ", format->name, " has values of an input");
    }
    if (features.is_set) {
      return Invalid(at, ".features: the source has no \"inputs\"; name them, or leave it out");
    }
  }
  if (!zipped.outputs().empty()) return absl::OkStatus();
  if (FindInFormat(source, "labels").is_set) {
    return Invalid(at, ".labels: the source has no \"outputs\"; name them, or leave it out");
  }
  for (const char* const field : {"one_hot", "one_hot_outputs", "sample_weight"}) {
    const auto* const member = source.GetDescriptor()->FindFieldByName(field);
    const bool is_set = member->is_repeated()
                            ? source.GetReflection()->FieldSize(source, member) > 0
                            : source.GetReflection()->GetBool(source, member);
    if (!is_set) continue;
    return Invalid(path, ".source.",
                   absl::string_view(field) == "one_hot_outputs" ? "one_hot" : field,
                   ": the source has no \"outputs\"; set it in one that has");
  }
  return absl::OkStatus();
}

absl::Status CheckZip(const std::string& path, const proto::DataSource& source) {
  const std::string other = OtherField(source, {"zip", "drop_remainder"});
  if (!other.empty()) {
    return Invalid(path, ".", other, ": stands beside \"zip\"; set it in the sources of the zip");
  }
  if (source.zip_size() > kZippedMost) {
    return Invalid(path, ".zip: has ", source.zip_size(), " sources, at most ", kZippedMost);
  }
  std::set<std::string> inputs;
  std::set<std::string> outputs;
  int weighted = -1;
  for (int i = 0; i < source.zip_size(); ++i) {
    const proto::ZippedSource& zipped = source.zip(i);
    const std::string at = absl::StrCat(path, ".zip[", i, "]");
    if (!zipped.has_source()) {
      return Invalid(at, R"(.source: is missing; for example {"npy": {"features": "x.npy"}})");
    }
    const std::string nested = !zipped.source().mix().empty()     ? "mix"
                               : !zipped.source().zip().empty()   ? "zip"
                               : zipped.source().drop_remainder() ? "drop_remainder"
                                                                  : "";
    if (!nested.empty()) {
      return Invalid(at, ".source.", nested, ": is not for a source of a zip",
                     nested == "drop_remainder" ? "; set it beside \"zip\"" : "");
    }
    if (zipped.inputs().empty() && zipped.outputs().empty()) {
      return Invalid(at,
                     ": has no \"inputs\" and no \"outputs\"; name those of the model whose "
                     "values the source has");
    }
    for (const std::string& name : zipped.inputs()) {
      if (inputs.insert(name).second) continue;
      return Invalid(at, ".inputs: \"", name, "\" appears twice; one source has its values");
    }
    for (const std::string& name : zipped.outputs()) {
      if (outputs.insert(name).second) continue;
      return Invalid(at, ".outputs: \"", name, "\" appears twice; one source has its labels");
    }
    CAIRN_RETURN_IF_ERROR(CheckParts(at, zipped));
    if (zipped.source().sample_weight().empty()) continue;
    if (weighted >= 0) {
      return Invalid(at, ".source.sample_weight: zip[", weighted,
                     "] has weights, too; an example has one");
    }
    weighted = i;
  }
  return absl::OkStatus();
}

absl::Status CheckPlainSource(const std::string& path, const proto::DataSource& source,
                              const DataNeeds& needs) {
  if (source.has_scale() && !std::isfinite(source.scale())) {
    return Invalid(path, ".scale: ", source.scale(), " is not a finite number");
  }
  if (!source.sample_weight().empty()) {
    CAIRN_RETURN_IF_ERROR(CheckFileList(path + ".sample_weight", source.sample_weight(), ""));
  }
  CAIRN_RETURN_IF_ERROR(CheckSkipping(path, source));
  CAIRN_RETURN_IF_ERROR(CheckRows(path, source));
  CAIRN_RETURN_IF_ERROR(CheckFormat(path, source, needs));
  return CheckPipeline(path, source, FormatOf(source));
}

absl::Status CheckSource(const std::string& path, const proto::DataSource& source,
                         bool needs_labels = true) {
  if (!source.mix().empty()) CAIRN_RETURN_IF_ERROR(CheckMix(path, source));
  if (!source.zip().empty()) CAIRN_RETURN_IF_ERROR(CheckZip(path, source));
  int place = 0;
  return ForEachSource(path, source, [&](const std::string& at, const proto::DataSource& each) {
    DataNeeds needs{.labels = needs_labels};
    if (!source.zip().empty()) {
      const proto::ZippedSource& zipped = source.zip(place++);
      needs = {.inputs = !zipped.inputs().empty(), .labels = !zipped.outputs().empty()};
    }
    return CheckPlainSource(at, each, needs);
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
  const auto has_folders = [](const proto::DataSource& source) {
    return source.has_images() && source.images().table().empty();
  };
  const bool is_by_class =
      has_folders(job.train()) ||
      absl::c_any_of(job.train().zip(), [&](const proto::ZippedSource& zipped) {
        return !zipped.outputs().empty() && has_folders(zipped.source());
      });
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
                             const nn::Signature& model) {
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
  if (!format.has_text && model.takes_text()) {
    return Invalid(path, ": the model has an input of text (dtype string), which only ",
                   NamesOfFormats(&DataFormat::has_text), " has");
  }
  if (model.outputs().size() <= 1 || !source.one_hot()) return absl::OkStatus();
  return Invalid(source_path, ".one_hot: the model has ", model.outputs().size(),
                 " outputs; name those with vectors: {\"", model.outputs()[0].name, "\": true}");
}

// The names of a zipped source's inputs or outputs as places in the model, which has them.
std::vector<int> PlacesOf(const FileNames& names, const std::vector<std::string>& all) {
  std::vector<int> places;
  for (const std::string& name : names) {
    places.push_back(static_cast<int>(absl::c_find(all, name) - all.begin()));
  }
  return places;
}

// InvalidArgument: the model has no input or output (`kind`) with one of the names.
absl::Status CheckNames(const std::string& path, const char* kind, const FileNames& names,
                        const std::vector<std::string>& all) {
  for (const std::string& name : names) {
    if (absl::c_linear_search(all, name)) continue;
    return Invalid(path, ".", kind, "s: the model has no ", kind, " '", name, "'; ",
                   KnownNamesText(name, all));
  }
  return absl::OkStatus();
}

absl::Status CheckZipFits(const std::string& path, const proto::DataSource& source,
                          const nn::Signature& model) {
  std::set<std::string> inputs;
  std::set<std::string> outputs;
  for (int i = 0; i < source.zip_size(); ++i) {
    const proto::ZippedSource& zipped = source.zip(i);
    const std::string at = absl::StrCat(path, ".zip[", i, "]");
    CAIRN_ASSIGN_OR_RETURN(const nn::Signature part, PartOf(at, model, zipped));
    CAIRN_RETURN_IF_ERROR(CheckSourceFits(at + ".source", zipped.source(), part));
    inputs.insert(zipped.inputs().begin(), zipped.inputs().end());
    outputs.insert(zipped.outputs().begin(), zipped.outputs().end());
  }
  for (const auto& input : model.inputs()) {
    if (inputs.contains(input.name)) continue;
    return Invalid(path, ".zip: no source has \"inputs\": \"", input.name,
                   "\", which the model wants");
  }
  for (const auto& output : model.outputs()) {
    if (outputs.contains(output.name)) continue;
    return Invalid(path, ".zip: no source has \"outputs\": \"", output.name,
                   "\", which has a loss");
  }
  return absl::OkStatus();
}

absl::Status CheckAllFit(const std::string& path, const proto::DataSource& source,
                         const nn::Signature& model) {
  if (!source.zip().empty()) return CheckZipFits(path, source, model);
  return ForEachSource(path, source,
                       [&model](const std::string& at, const proto::DataSource& each) {
                         return CheckSourceFits(at, each, model);
                       });
}

// Checks what the validation data may take from the training data only. `path` is the path of the
// validation source.
absl::Status CheckTaken(const std::string& path, const proto::DataSource& train,
                        const proto::DataSource& validation) {
  if (validation.standardize() && !train.standardize()) {
    return Invalid(path, ".standardize: belongs to the training data; set it in \"train\"");
  }
  if (absl::c_any_of(validation.pipeline(), IsMeasured) &&
      absl::c_none_of(train.pipeline(), IsMeasured)) {
    return Invalid(path,
                   ".pipeline: \"normalize\" without numbers takes those of the training data; "
                   "set it in \"train\", too");
  }
  return absl::OkStatus();
}

// The sources of a zip of validation data take vocabularies and statistics from those of the
// training data.
absl::Status CheckSameZip(const proto::DataSource& train, const proto::DataSource& validation) {
  if (train.zip().empty() && validation.zip().empty()) return absl::OkStatus();
  if (train.zip_size() != validation.zip_size()) {
    return Invalid("validation.zip: has ", validation.zip_size(), " sources, \"train\" has ",
                   train.zip_size(), "; describe both alike");
  }
  const auto are_equal = [](const FileNames& some, const FileNames& others) {
    return absl::c_equal(some, others);
  };
  for (int i = 0; i < train.zip_size(); ++i) {
    const std::string at = absl::StrCat("validation.zip[", i, "]");
    const proto::ZippedSource& its = validation.zip(i);
    for (const auto& [field, same, names] :
         {std::tuple(".inputs: ", are_equal(train.zip(i).inputs(), its.inputs()),
                     train.zip(i).inputs()),
          std::tuple(".outputs: ", are_equal(train.zip(i).outputs(), its.outputs()),
                     train.zip(i).outputs())}) {
      if (same) continue;
      return Invalid(at, field, "differ from those of train.zip[", i, "], which are ",
                     names.empty() ? "none" : absl::StrJoin(names, ", "), "; name the same");
    }
    CAIRN_RETURN_IF_ERROR(CheckTaken(at + ".source", train.zip(i).source(), its.source()));
  }
  return absl::OkStatus();
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
    CAIRN_RETURN_IF_ERROR(CheckTaken("validation", job.train(), job.validation()));
    CAIRN_RETURN_IF_ERROR(CheckSameZip(job.train(), job.validation()));
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

absl::Status CheckDataFitsModel(const proto::Job& job, const nn::Signature& model) {
  CAIRN_RETURN_IF_ERROR(CheckAllFit("train", job.train(), model));
  if (!job.has_validation()) return absl::OkStatus();
  return CheckAllFit("validation", ValidationSource(job), model);
}

std::vector<int> InputsOf(const proto::ZippedSource& zipped, const nn::Signature& model) {
  return PlacesOf(zipped.inputs(), NamesOf(model.inputs()));
}

std::vector<int> OutputsOf(const proto::ZippedSource& zipped, const nn::Signature& model) {
  return PlacesOf(zipped.outputs(), NamesOf(model.outputs()));
}

absl::StatusOr<nn::Signature> PartOf(const std::string& path, const nn::Signature& model,
                                     const proto::ZippedSource& zipped) {
  CAIRN_RETURN_IF_ERROR(CheckNames(path, "input", zipped.inputs(), NamesOf(model.inputs())));
  CAIRN_RETURN_IF_ERROR(CheckNames(path, "output", zipped.outputs(), NamesOf(model.outputs())));
  return model.Part(InputsOf(zipped, model), OutputsOf(zipped, model));
}

std::vector<DataFile> FilesOf(const std::string& path, proto::DataSource* source) {
  std::vector<DataFile> files;
  for (int i = 0; i < source->mix_size(); ++i) {
    for (const DataFile& file : FilesOf(absl::StrCat(path, ".mix[", i, "].source"),
                                        source->mutable_mix(i)->mutable_source())) {
      files.push_back(file);
    }
  }
  for (int i = 0; i < source->zip_size(); ++i) {
    for (const DataFile& file : FilesOf(absl::StrCat(path, ".zip[", i, "].source"),
                                        source->mutable_zip(i)->mutable_source())) {
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

bool IsDivisible(const proto::DataSource& source) {
  const DataFormat* format = FormatOf(source);
  return format != nullptr && format->is_divisible;
}

std::vector<OpenColumn> OpenColumns(const proto::DataSource& source) {
  const DataFormat* format = FormatOf(source);
  if (format == nullptr || format->open_columns == nullptr) return {};
  return format->open_columns(source);
}

bool ChoosesRows(const proto::Job& job, const proto::DataSource& source) {
  return job.has_validation_fraction() || !source.rows().empty() || !source.pipeline().empty();
}

bool IsReadAgain(const proto::DataSource& train) {
  return train.standardize() || !train.pipeline().empty();
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
  std::vector<proto::DataSource> sources;
  for (const proto::ZippedSource& zipped : source.zip()) sources.push_back(zipped.source());
  if (!sources.empty()) return sources;
  if (source.mix().empty()) return {source};
  for (const proto::MixedSource& mixed : source.mix()) {
    proto::DataSource& each = sources.emplace_back(mixed.source());
    if (source.one_hot()) each.set_one_hot(true);
    if (source.standardize()) each.set_standardize(true);
    *each.mutable_one_hot_outputs() = source.one_hot_outputs();
  }
  return sources;
}

std::vector<PlacedSource> SurveyedSources(const proto::Job& job) {
  std::vector<PlacedSource> surveyed;
  // Which rows of a part its columns are of depends on the filters of all parts before it.
  if (FiltersNeedAllRows(job.train()) && !OpenColumns(job.train()).empty()) return surveyed;
  const auto add = [&surveyed](bool is_validation, const proto::DataSource& data) {
    const bool skips = absl::c_any_of(data.zip(), [](const proto::ZippedSource& zipped) {
      return zipped.source().skip_damaged() > 0;
    });
    if (skips) return;
    const std::string kind = !data.zip().empty() ? "zip" : !data.mix().empty() ? "mix" : "";
    const std::vector<proto::DataSource> sources = SourcesOf(data);
    for (int i = 0; i < static_cast<int>(sources.size()); ++i) {
      if (!IsDivisible(sources[i])) continue;
      if (!kind.empty() && !OpenColumns(sources[i]).empty()) continue;
      const std::string name = kind.empty() ? "" : absl::StrCat(kind, "[", i, "]");
      surveyed.push_back({is_validation, i, name, sources[i]});
    }
  };
  add(false, job.train());
  if (job.has_validation()) add(true, ValidationSource(job));
  return surveyed;
}

proto::DataSource TemplateOf(const proto::DataSource& source) {
  return source.zip().empty() ? SourcesOf(source)[0] : source;
}

namespace {

// A validation source with what it inherits from a training source.
proto::DataSource Inherited(const proto::DataSource& train, proto::DataSource source) {
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

}  // namespace

proto::DataSource ValidationSource(const proto::Job& job) {
  if (job.validation().zip().empty()) return Inherited(TemplateOf(job.train()), job.validation());
  proto::DataSource source = job.validation();
  for (int i = 0; i < std::min(source.zip_size(), job.train().zip_size()); ++i) {
    proto::DataSource& each = *source.mutable_zip(i)->mutable_source();
    each = Inherited(job.train().zip(i).source(), std::move(each));
  }
  return source;
}

}  // namespace cairn::job
