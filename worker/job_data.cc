#include "worker/job_data.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/plural.h"
#include "common/printable.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "job/data_formats/text_format.h"
#include "job/data_source.h"
#include "job/moments.h"
#include "job/value_steps.h"
#include "nn/objective.h"
#include "nn/signature.h"
#include "worker/data/files/load_file.h"
#include "worker/data/mixture.h"
#include "worker/data/permutation.h"
#include "worker/data/row_selection.h"
#include "worker/data/source_arrays.h"
#include "worker/data/zip_parts.h"

namespace cairn::worker {
namespace {

// Divides the rows of the training files into training and validation rows. The first `training`
// rows of `order` are for training, the rest for validation.
struct Split {
  int64_t rows = 0;
  int64_t training = 0;
  std::optional<Permutation> order;  // None: the order of the files.

  bool IsTraining(int64_t row) const { return (order ? order->IndexOf(row) : row) < training; }
};

// The number of training rows is that of Keras's validation_split.
absl::StatusOr<Split> SplitRows(const proto::Job& job, int64_t rows) {
  Split split{rows, rows, std::nullopt};
  if (!job.has_validation_fraction()) return split;
  split.training =
      static_cast<int64_t>(std::floor(static_cast<double>(rows) * (1 - job.validation_fraction())));
  if (split.training < 1 || split.training == rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("validation_fraction: ", job.validation_fraction(), " of ", rows,
                     " examples leaves none for ", split.training < 1 ? "training" : "validation"));
  }
  if (job.validation_choice() == "random") {
    split.order.emplace(rows, DeriveKey(job.seed(), "validation"));
  }
  return split;
}

// As ChooseTrainingRows, for a source of the job. A row is for training if an example that contains
// it is.
absl::StatusOr<IsTrainingRow> ChooseRows(const proto::Job& job, const proto::DataSource& source,
                                         int64_t rows) {
  CAIRN_ASSIGN_OR_RETURN(const RowSelection selection,
                         RowSelection::Create(source, RowSelection(rows)));
  CAIRN_ASSIGN_OR_RETURN(const Split split, SplitRows(job, selection.examples()));
  return [split, selection](int64_t row) {
    return selection.AnyExampleOf(row, [&](int64_t example) { return split.IsTraining(example); });
  };
}

// The job file's field of a source: "job field train.npy". The path alone could be taken for a file
// name.
std::string FieldOf(const std::string& field, const proto::DataSource& source) {
  const job::DataFormat* format = job::FormatOf(source);
  return format == nullptr ? absl::StrCat("job field ", field)
                           : absl::StrCat("job field ", field, ".", format->name);
}

// Calls `read` and prefixes its error with the job file's field. Turns std::bad_alloc into
// ResourceExhausted.
template <typename Result>
absl::StatusOr<Result> Within(const std::string& data,
                              const std::function<absl::StatusOr<Result>()>& read) {
  try {
    absl::StatusOr<Result> result = read();
    if (result.ok()) return result;
    return absl::Status(result.status().code(),
                        absl::StrCat(data, ": ", result.status().message()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(data, ": the data do not fit into this worker's memory"));
  }
}

// A reply about a data set of many files is small.
constexpr size_t kFileGroupsMax = 256;

using IndexedFiles = google::protobuf::RepeatedPtrField<proto::IndexedFile>;
using Fingerprints = google::protobuf::RepeatedField<uint64_t>;
using DataPlans = google::protobuf::RepeatedPtrField<proto::DataPlan>;

// What the inspection of a source finds beside its examples.
struct Findings {
  proto::DamagedRecords damaged;
  std::vector<proto::IndexedFile> index;
};

absl::StatusOr<Dataset> OpenSource(const proto::DataSource& source, const SourceFiles& files,
                                   const proto::DataPlan& plan, const nn::Signature& signature,
                                   const nn::Objective& objective, DataStorage* storage,
                                   const PlannedFiles* planned, Findings* findings) {
  const auto label_specs = LabelSpecs(source, signature, objective);
  CAIRN_ASSIGN_OR_RETURN(SourceArrays arrays, ReadSource({source, files, plan, signature,
                                                          label_specs, storage, planned}));
  if (findings != nullptr) *findings = {arrays.damaged, arrays.index};
  // Objectives of several models, and a source of a zip, may need no labels.
  if (label_specs.empty()) {
    return Dataset::CreateInputs(std::move(arrays), source, plan, signature);
  }
  return Dataset::Create(std::move(arrays), source, plan, signature, objective);
}

// The files of one of the job's sources. Objectives of several models may need no labels.
absl::StatusOr<SourceFiles> ListJobFiles(const proto::DataSource& source, const JobModel& model) {
  return ListFiles(source, model.data_model(),
                   /*needs_labels=*/!model.data_objective().losses().empty());
}

// Opens the sources of a mixture, each by open(number, source), and mixes them.
absl::StatusOr<Dataset> OpenMix(
    const proto::DataSource& mix,
    const std::function<absl::StatusOr<Dataset>(int number, const proto::DataSource& source)>&
        open) {
  std::vector<Dataset> opened;
  std::vector<int64_t> sizes;
  std::vector<double> weights;
  const std::vector<proto::DataSource> sources = job::SourcesOf(mix);
  for (int i = 0; i < static_cast<int>(sources.size()); ++i) {
    absl::StatusOr<Dataset> source = open(i, sources[i]);
    if (!source.ok()) {
      return absl::Status(source.status().code(),
                          absl::StrCat("mix[", i, "]: ", source.status().message()));
    }
    sizes.push_back(source->examples());
    opened.push_back(*std::move(source));
    if (mix.mix(i).has_weight()) weights.push_back(mix.mix(i).weight());
  }
  CAIRN_ASSIGN_OR_RETURN(Mixture mixture, Mixture::Create(std::move(sizes), std::move(weights)));
  return Dataset::Mix(std::move(opened), std::move(mixture));
}

// Opens the sources of a zip, each by open(number, part, damaged), and puts their examples
// together. `damaged` is what the source has skipped.
using OpenPart = std::function<absl::StatusOr<Dataset>(int number, const proto::DataSource& source,
                                                       const nn::Signature& part,
                                                       proto::DamagedRecords* damaged)>;

absl::StatusOr<Dataset> OpenZip(const proto::DataSource& zip, const nn::Signature& model,
                                const OpenPart& open) {
  std::vector<ZippedPart> parts;
  for (int i = 0; i < zip.zip_size(); ++i) {
    const proto::ZippedSource& zipped = zip.zip(i);
    CAIRN_ASSIGN_OR_RETURN(const nn::Signature part,
                           job::PartOf(absl::StrCat("zip[", i, "]"), model, zipped));
    proto::DamagedRecords damaged;
    absl::StatusOr<Dataset> dataset = open(i, zipped.source(), part, &damaged);
    if (!dataset.ok()) {
      return absl::Status(dataset.status().code(),
                          absl::StrCat("zip[", i, "]: ", dataset.status().message()));
    }
    parts.push_back(
        {{*std::move(dataset), job::InputsOf(zipped, model), job::OutputsOf(zipped, model)},
         std::move(damaged)});
  }
  return ZipParts(std::move(parts));
}

// What the training data fix for a source of a zip. `train` has the sources of the training data.
proto::DataPlan FixedFor(int number, const DataPlans& train) {
  if (number >= train.size()) return {};
  proto::DataPlan plan = train[number];
  plan.clear_train_files();
  plan.clear_train_index();
  plan.clear_train_damaged();
  return plan;
}

// Whether the plan has an entry of the column.
template <typename Entries>
bool HasColumn(const Entries& entries, const std::string& column) {
  return absl::c_any_of(entries, [&](const auto& entry) { return entry.column() == column; });
}

// What the inspection of one source of a mixture has found would differ from what it finds in the
// others. So the plan, which they share, must have it.
absl::Status CheckShared(const proto::DataSource& source, const proto::DataPlan& found,
                         const proto::DataPlan& plan) {
  for (const auto& vocabulary : found.vocabularies()) {
    const std::string& column = vocabulary.column();
    if (HasColumn(plan.vocabularies(), column)) continue;
    if (column.empty() || (source.has_text() && column == job::kTextLabel)) {
      return absl::InvalidArgumentError(
          "list the classes in \"class_names\": all sources of a mixture share them");
    }
    if (source.has_text()) {
      return absl::InvalidArgumentError(
          "list the \"vocabulary\" of \"text_vectorization\": all sources of a mixture share it");
    }
    return absl::InvalidArgumentError(absl::StrCat("list the \"vocabulary\" of \"",
                                                   PrintableLine(column),
                                                   "\": all sources of a mixture share it"));
  }
  for (const auto& fill : found.fills()) {
    if (HasColumn(plan.fills(), fill.column())) continue;
    return absl::InvalidArgumentError(absl::StrCat("replace missing values of \"",
                                                   PrintableLine(fill.column()),
                                                   "\" by a number: all sources of a mixture share "
                                                   "it"));
  }
  if (found.csv_features().empty() || !plan.csv_features().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "name the columns in \"features\": all sources of a mixture share them");
}

// Checks that the files are those that were inspected. Files with an index are opened later, and
// checked then; this checks the sizes, without opening them.
absl::Status CheckFiles(const SourceFiles& files, const Fingerprints& inspected,
                        const IndexedFiles& index) {
  if (inspected.empty()) return absl::OkStatus();
  const std::vector<std::string> names = files.All();
  if (static_cast<int>(names.size()) != inspected.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        names.size(), " data files on this host, ", inspected.size(), " when the job was planned"));
  }
  for (int i = 0; i < std::min<int>(index.size(), inspected.size()); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(names[i]));
    if (bytes == index[i].bytes()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "data file ", names[i], ": it has ", bytes, " bytes, and had ", index[i].bytes(),
        " when the job was planned; all workers need the same files, and these must "
        "not change"));
  }
  SourceFiles opened = files;
  if (!index.empty()) {
    opened.features.clear();
    opened.labels.clear();
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(opened));
  const int first = static_cast<int>(names.size() - prints.size());
  for (int i = first; i < inspected.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(CheckFingerprint(names[i], prints[i - first], inspected[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> OpenFiles(const proto::DataSource& source, const SourceFiles& files,
                                  const Fingerprints& inspected, const IndexedFiles& index,
                                  const proto::DataPlan& plan, const nn::Signature& signature,
                                  const nn::Objective& objective,
                                  const std::shared_ptr<DataStorage>& storage,
                                  Findings* findings = nullptr) {
  CAIRN_RETURN_IF_ERROR(CheckFiles(files, inspected, index));
  const PlannedFiles planned = {
      {index.begin(), index.end()}, {inspected.begin(), inspected.end()}, storage};
  return OpenSource(source, files, plan, signature, objective, storage.get(), &planned, findings);
}

// Two lists of files are the same if this is.
uint64_t NamesHash(const std::vector<std::string>& names) {
  uint64_t hash = 0;
  for (const std::string& name : names) hash = XXH3_64bits_withSeed(name.data(), name.size(), hash);
  return hash;
}

// ------------------------------------------------------------------------------------ inspection

class Inspection {
 public:
  Inspection(const proto::Inspect& inspect, const JobModel& model,
             std::shared_ptr<DataStorage> storage, proto::InspectReply* reply)
      : job_(inspect.job()),
        model_(model),
        survey_(inspect.has_survey() ? &inspect.survey() : nullptr),
        measurement_(inspect.has_measurement() ? &inspect.measurement() : nullptr),
        storage_(std::move(storage)),
        reply_(*reply) {}

  absl::StatusOr<bool> Train() {
    proto::DataPlan& plan = *reply_.mutable_data();
    if (!job_.train().mix().empty()) {
      proto::DamagedRecords damaged;
      CAIRN_ASSIGN_OR_RETURN(const int64_t examples,
                             Mix(job_.train(), plan.mutable_train_mix(), &damaged));
      if (damaged.count() > 0) *plan.mutable_train_damaged() = damaged;
      reply_.set_examples(examples);
      return true;
    }
    if (!job_.train().zip().empty()) return TrainZip(&plan);
    CAIRN_ASSIGN_OR_RETURN(Dataset data, OpenTraining(&plan));
    CAIRN_ASSIGN_OR_RETURN(const Split split, SplitRows(job_, data.examples()));
    reply_.set_examples(split.training);
    reply_.set_validation_examples(split.rows - split.training);
    const auto shapes = data.InputShapes();
    plan.mutable_input_shapes()->Assign(shapes.begin(), shapes.end());
    if (IsMeasured(job_.train())) {
      CAIRN_ASSIGN_OR_RETURN(const std::vector<job::Moments> moments,
                             measurement_ == nullptr ? Measure(data, split, data.all_rows())
                                                     : MomentsOf(*measurement_));
      const auto inputs = ResultsOf(moments);
      plan.mutable_inputs()->Assign(inputs.begin(), inputs.end());
      data = data.WithStatistics(moments);
    }
    // The steps behind one that normalizes take the normalized values. The others have accepted all
    // parts.
    CAIRN_RETURN_IF_ERROR(data.CheckSteps(data.all_rows(), measurement_ == nullptr
                                                               ? Dataset::Inputs::kAll
                                                               : Dataset::Inputs::kNormalized));
    return true;
  }

  // A part of what Train does with the rows, after the survey.
  absl::StatusOr<proto::DataMeasurement> MeasurePart(uint32_t part, uint32_t parts) {
    proto::DataPlan plan;
    CAIRN_ASSIGN_OR_RETURN(const Dataset data, OpenTraining(&plan));
    CAIRN_ASSIGN_OR_RETURN(const Split split, SplitRows(job_, data.examples()));
    CAIRN_ASSIGN_OR_RETURN(const Dataset::RowRange rows, RowsOfPart(part, parts, data.examples()));
    proto::DataMeasurement measurement;
    measurement.set_part(part);
    CAIRN_RETURN_IF_ERROR(data.CheckSteps(rows, Dataset::Inputs::kOthers));
    if (!IsMeasured(job_.train())) return measurement;
    CAIRN_ASSIGN_OR_RETURN(const std::vector<job::Moments> moments, Measure(data, split, rows));
    for (const job::Moments& each : moments) *measurement.add_inputs() = each.ToProto();
    return measurement;
  }

  absl::StatusOr<bool> Validation() {
    const proto::DataSource source = job::ValidationSource(job_);
    proto::DataPlan& plan = *reply_.mutable_data();
    if (!source.mix().empty()) {
      proto::DamagedRecords damaged;
      CAIRN_ASSIGN_OR_RETURN(const int64_t examples,
                             Mix(source, plan.mutable_validation_mix(), &damaged));
      if (damaged.count() > 0) *plan.mutable_validation_damaged() = damaged;
      reply_.set_validation_examples(examples);
      return true;
    }
    if (!source.zip().empty()) {
      proto::DamagedRecords damaged;
      CAIRN_ASSIGN_OR_RETURN(const Dataset data, Zip(source, &plan.train_zip(),
                                                     plan.mutable_validation_zip(), &damaged));
      if (damaged.count() > 0) *plan.mutable_validation_damaged() = damaged;
      reply_.set_validation_examples(data.examples());
      CAIRN_RETURN_IF_ERROR(data.CheckSteps(data.all_rows()));
      return true;
    }
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(source, model_));
    CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(files));
    plan.mutable_validation_files()->Assign(prints.begin(), prints.end());
    Findings found;
    CAIRN_ASSIGN_OR_RETURN(const Dataset data,
                           OpenSource(source, files, plan, model_.data_model(),
                                      model_.data_objective(), storage_.get(), nullptr, &found));
    if (found.damaged.count() > 0) {
      *plan.mutable_validation_damaged() = WithoutPlaces(found.damaged);
    }
    plan.mutable_validation_index()->Assign(found.index.begin(), found.index.end());
    reply_.set_validation_examples(data.examples());
    CAIRN_RETURN_IF_ERROR(data.CheckSteps(data.all_rows()));
    return true;
  }

 private:
  // With a survey, only those of other files are computed.
  absl::StatusOr<std::vector<uint64_t>> FingerprintTraining(const SourceFiles& files) {
    if (survey_ == nullptr) return FingerprintFiles(files);
    const auto listed = static_cast<int64_t>(files.features[0].size());
    if (listed != survey_->files() || NamesHash(files.features[0]) != survey_->names()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the data files were changed while they were inspected: there were ",
                       survey_->files(), ", now there are ", listed));
    }
    SourceFiles others = files;
    others.features.clear();
    CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(others));
    std::vector<uint64_t> all(survey_->fingerprints().begin(), survey_->fingerprints().end());
    all.insert(all.end(), prints.begin(), prints.end());
    return all;
  }

  static bool IsMeasured(const proto::DataSource& source) {
    return source.standardize() || absl::c_any_of(source.pipeline(), job::IsMeasured);
  }

  // Whole files, or parts of files, so that no two workers parse one.
  absl::StatusOr<Dataset::RowRange> RowsOfPart(uint32_t part, uint32_t parts,
                                               int64_t examples) const {
    std::vector<int64_t> ends = {0};
    for (const proto::IndexedFile& file : survey_->index()) {
      if (file.part_examples().empty()) ends.push_back(ends.back() + file.examples());
      for (const int64_t each : file.part_examples()) ends.push_back(ends.back() + each);
    }
    if (ends.back() != examples) {
      return absl::InternalError(
          absl::StrCat("the survey has ", ends.back(), " examples, the data ", examples));
    }
    const auto begin = [&](uint64_t of) { return ends[(ends.size() - 1) * of / parts]; };
    return Dataset::RowRange{begin(part), begin(part + 1)};
  }

  // Only of training rows: statistics that saw validation rows would make the validation biased.
  absl::StatusOr<std::vector<job::Moments>> Measure(const Dataset& data, const Split& split,
                                                    Dataset::RowRange rows) const {
    return data.Measure(
        model_.data_model(), [&split](int64_t row) { return split.IsTraining(row); }, rows);
  }

  absl::StatusOr<std::vector<job::Moments>> MomentsOf(
      const proto::DataMeasurement& measurement) const {
    std::vector<job::Moments> moments;
    for (const proto::Moments& each : measurement.inputs()) {
      moments.emplace_back(each.places_size());
      CAIRN_RETURN_IF_ERROR(moments.back().Add(each));
    }
    if (moments.size() == model_.data_model().inputs().size()) return moments;
    return absl::InvalidArgumentError(
        absl::StrCat("the statistics are of ", moments.size(), " inputs"));
  }

  static std::vector<proto::DataPlan::Standardization> ResultsOf(
      const std::vector<job::Moments>& moments) {
    std::vector<proto::DataPlan::Standardization> results;
    for (const job::Moments& each : moments) results.push_back(each.Result());
    return results;
  }

  // Adds to the plan what is found in the files.
  absl::StatusOr<Dataset> OpenTraining(proto::DataPlan* plan) {
    const proto::DataSource& train = job_.train();
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(train, model_));
    CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintTraining(files));
    plan->mutable_train_files()->Assign(prints.begin(), prints.end());
    // Before the data are opened: opening CSV encodes text by the vocabularies in the plan.
    ChooseTrainingRows choose;
    if (job_.has_validation_fraction() || !train.rows().empty() || !train.pipeline().empty()) {
      choose = [this](int64_t rows) { return ChooseRows(job_, job_.train(), rows); };
    }
    CAIRN_RETURN_IF_ERROR(InspectSource(train, files, choose, plan));
    if (survey_ == nullptr) {
      Findings found;
      CAIRN_ASSIGN_OR_RETURN(Dataset data,
                             OpenSource(train, files, *plan, model_.data_model(),
                                        model_.data_objective(), storage_.get(), nullptr, &found));
      if (found.damaged.count() > 0) *plan->mutable_train_damaged() = WithoutPlaces(found.damaged);
      plan->mutable_train_index()->Assign(found.index.begin(), found.index.end());
      return data;
    }
    const proto::DamagedRecords& damaged = survey_->damaged();
    CAIRN_RETURN_IF_ERROR(CheckDamage(damaged, train.skip_damaged()));
    if (damaged.count() > 0) *plan->mutable_train_damaged() = WithoutPlaces(damaged);
    *plan->mutable_train_index() = survey_->index();
    return OpenFiles(train, files, plan->train_files(), plan->train_index(), *plan,
                     model_.data_model(), model_.data_objective(), storage_);
  }

  absl::StatusOr<bool> TrainZip(proto::DataPlan* plan) {
    const proto::DataSource& train = job_.train();
    proto::DamagedRecords damaged;
    CAIRN_ASSIGN_OR_RETURN(Dataset data, Zip(train, nullptr, plan->mutable_train_zip(), &damaged));
    if (damaged.count() > 0) *plan->mutable_train_damaged() = damaged;
    CAIRN_ASSIGN_OR_RETURN(const Split split, SplitRows(job_, data.examples()));
    reply_.set_examples(split.training);
    reply_.set_validation_examples(split.rows - split.training);
    const bool is_measured = absl::c_any_of(
        train.zip(), [](const proto::ZippedSource& zipped) { return IsMeasured(zipped.source()); });
    if (is_measured) {
      CAIRN_ASSIGN_OR_RETURN(const std::vector<job::Moments> moments,
                             Measure(data, split, data.all_rows()));
      const auto inputs = ResultsOf(moments);
      for (int i = 0; i < train.zip_size(); ++i) {
        for (const int input : job::InputsOf(train.zip(i), model_.data_model())) {
          *plan->mutable_train_zip(i)->add_inputs() = inputs[input];
        }
      }
      data = data.WithStatistics(moments);
    }
    CAIRN_RETURN_IF_ERROR(data.CheckSteps(data.all_rows()));
    return true;
  }

  // The examples of a zip. `train`: what the training data fix, by source; null for these
  // themselves. Adds to the plans of the sources.
  absl::StatusOr<Dataset> Zip(const proto::DataSource& zip, const DataPlans* train,
                              DataPlans* plans, proto::DamagedRecords* damaged) {
    // Damaged examples are left out in all sources, so the numbers of the others are not yet known.
    const bool skips = absl::c_any_of(zip.zip(), [](const proto::ZippedSource& zipped) {
      return zipped.source().skip_damaged() > 0;
    });
    proto::Job job = job_;
    if (skips) job.clear_validation_fraction();
    const auto open = [&](int number, const proto::DataSource& source, const nn::Signature& part,
                          proto::DamagedRecords* skipped) -> absl::StatusOr<Dataset> {
      proto::DataPlan& plan = *plans->Add();
      CAIRN_ASSIGN_OR_RETURN(const SourceFiles files,
                             ListFiles(source, part, /*needs_labels=*/!part.outputs().empty()));
      CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(files));
      plan.mutable_train_files()->Assign(prints.begin(), prints.end());
      if (train == nullptr) {
        ChooseTrainingRows choose;
        if (job.has_validation_fraction() || !source.rows().empty() || !source.pipeline().empty()) {
          choose = [&](int64_t rows) { return ChooseRows(job, source, rows); };
        }
        CAIRN_RETURN_IF_ERROR(InspectSource(source, files, choose, &plan));
      }
      Findings found;
      CAIRN_ASSIGN_OR_RETURN(
          Dataset data,
          OpenSource(source, files, train == nullptr ? plan : FixedFor(number, *train), part,
                     model_.data_objective(), storage_.get(), nullptr, &found));
      plan.mutable_train_index()->Assign(found.index.begin(), found.index.end());
      *skipped = found.damaged;
      if (found.damaged.count() == 0) return data;
      *plan.mutable_train_damaged() = found.damaged;
      if (damaged->count() == 0) damaged->set_first_error(found.damaged.first_error());
      damaged->set_count(damaged->count() + found.damaged.count());
      return data;
    };
    return OpenZip(zip, model_.data_model(), open);
  }

  // The places of the records are for zips only.
  static proto::DamagedRecords WithoutPlaces(proto::DamagedRecords found) {
    found.clear_places();
    return found;
  }

  // The number of examples in a pass of a mixture.
  absl::StatusOr<int64_t> Mix(const proto::DataSource& mix, DataPlans* plans,
                              proto::DamagedRecords* damaged) {
    const auto open = [&](int, const proto::DataSource& source) -> absl::StatusOr<Dataset> {
      proto::DataPlan& plan = *plans->Add();
      CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(source, model_));
      CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(files));
      plan.mutable_train_files()->Assign(prints.begin(), prints.end());
      CAIRN_RETURN_IF_ERROR(InspectSource(source, files, {}, &plan));
      // Of a validation mixture: the statistics of the training data.
      *plan.mutable_inputs() = reply_.data().inputs();
      CAIRN_RETURN_IF_ERROR(CheckShared(source, plan, proto::DataPlan()));
      Findings found;
      CAIRN_ASSIGN_OR_RETURN(Dataset data,
                             OpenSource(source, files, plan, model_.data_model(),
                                        model_.data_objective(), storage_.get(), nullptr, &found));
      CAIRN_RETURN_IF_ERROR(data.CheckSteps(data.all_rows()));
      if (damaged->count() == 0) damaged->set_first_error(found.damaged.first_error());
      damaged->set_count(damaged->count() + found.damaged.count());
      plan.mutable_train_index()->Assign(found.index.begin(), found.index.end());
      return data;
    };
    CAIRN_ASSIGN_OR_RETURN(const Dataset data, OpenMix(mix, open));
    return data.examples();
  }

  const proto::Job& job_;
  const JobModel& model_;
  const proto::DataSurvey* const survey_;            // Null: the training files are to be read.
  const proto::DataMeasurement* const measurement_;  // Null: their rows are to be measured.
  const std::shared_ptr<DataStorage> storage_;
  proto::InspectReply& reply_;
};

absl::Status CheckPart(const proto::Inspect& inspect) {
  if (job::IsDivisible(inspect.job().train()) && inspect.part() < inspect.parts()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no part ", inspect.part(), " of ", inspect.parts()));
}

// Reads the files of one part of the training data.
absl::StatusOr<proto::DataSurvey> Survey(const proto::Inspect& inspect, const JobModel& model,
                                         DataStorage* storage) {
  const proto::DataSource& train = inspect.job().train();
  CAIRN_ASSIGN_OR_RETURN(const SourceFiles all, ListJobFiles(train, model));
  const std::vector<std::string>& names = all.features[0];
  proto::DataSurvey survey;
  survey.set_part(inspect.part());
  survey.set_files(static_cast<int64_t>(names.size()));
  survey.set_names(NamesHash(names));
  const uint64_t begin = names.size() * inspect.part() / inspect.parts();
  const uint64_t end = names.size() * (inspect.part() + 1) / inspect.parts();
  if (begin == end) return survey;
  SourceFiles files;
  files.features = {{names.begin() + begin, names.begin() + end}};
  CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(files));
  survey.mutable_fingerprints()->Assign(prints.begin(), prints.end());
  // What the plan has is not in the files of a divisible source, but for the columns of the first.
  proto::DataPlan plan;
  CAIRN_RETURN_IF_ERROR(InspectSource(train, all, {}, &plan));
  const auto label_specs = LabelSpecs(train, model.data_model(), model.data_objective());
  CAIRN_ASSIGN_OR_RETURN(
      const SourceArrays found,
      SurveySource({train, files, plan, model.data_model(), label_specs, storage}));
  survey.mutable_index()->Assign(found.index.begin(), found.index.end());
  *survey.mutable_damaged() = found.damaged;
  survey.mutable_damaged()->clear_places();
  return survey;
}

absl::Status InspectInto(const proto::Inspect& inspect, const DataStorage::Options& options,
                         proto::InspectReply* reply) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.inspect"));
  CAIRN_ASSIGN_OR_RETURN(const JobModel model, JobModel::Create(inspect.job(), inspect.model()));
  const auto storage = std::make_shared<DataStorage>(options);
  const std::string field = FieldOf("train", inspect.job().train());
  if (inspect.parts() > 0) {
    CAIRN_RETURN_IF_ERROR(CheckPart(inspect));
    if (!inspect.has_survey()) {
      CAIRN_ASSIGN_OR_RETURN(*reply->mutable_survey(), Within<proto::DataSurvey>(field, [&] {
        return Survey(inspect, model, storage.get());
      }));
      return absl::OkStatus();
    }
    proto::InspectReply ignored;
    Inspection inspection(inspect, model, storage, &ignored);
    CAIRN_ASSIGN_OR_RETURN(*reply->mutable_measurement(),
                           Within<proto::DataMeasurement>(field, [&] {
                             return inspection.MeasurePart(inspect.part(), inspect.parts());
                           }));
    return absl::OkStatus();
  }
  Inspection inspection(inspect, model, storage, reply);
  CAIRN_RETURN_IF_ERROR(Within<bool>(field, [&] { return inspection.Train(); }).status());
  if (!inspect.job().has_validation()) return absl::OkStatus();
  return Within<bool>(FieldOf("validation", inspect.job().validation()),
                      [&] { return inspection.Validation(); })
      .status();
}

// --------------------------------------------------------------------------------------- loading

absl::StatusOr<Dataset> Open(const proto::DataSource& source, const Fingerprints& inspected,
                             const IndexedFiles& index, const proto::DataPlan& plan,
                             const JobModel& model, const std::shared_ptr<DataStorage>& storage) {
  CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(source, model));
  return OpenFiles(source, files, inspected, index, plan, model.data_model(),
                   model.data_objective(), storage);
}

// The examples of a zip. `plans` has the files of its sources, and `train` what the training data
// fix. Both are empty if the job was planned without them.
absl::StatusOr<Dataset> OpenPlannedZip(const proto::DataSource& zip, const DataPlans& plans,
                                       const DataPlans& train, const JobModel& model,
                                       const std::shared_ptr<DataStorage>& storage) {
  const auto open = [&](int number, const proto::DataSource& source, const nn::Signature& part,
                        proto::DamagedRecords* damaged) -> absl::StatusOr<Dataset> {
    const proto::DataPlan its = number < plans.size() ? plans[number] : proto::DataPlan();
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files,
                           ListFiles(source, part, /*needs_labels=*/!part.outputs().empty()));
    Findings found;
    auto data = OpenFiles(source, files, its.train_files(), its.train_index(),
                          FixedFor(number, train), part, model.data_objective(), storage, &found);
    // Files that are opened as needed have no damaged records: those of the plan are left out.
    *damaged = found.damaged.count() > 0 ? found.damaged : its.train_damaged();
    return data;
  };
  return OpenZip(zip, model.data_model(), open);
}

// As Open, for a source that may be a zip, with the plans of its sources, or a mixture. `plans` are
// those of its sources. They are empty if the job was planned without this mixture; its sources
// then have the plan of the job.
absl::StatusOr<Dataset> OpenAny(const proto::DataSource& source, const Fingerprints& inspected,
                                const IndexedFiles& index, const DataPlans& zip_plans,
                                const DataPlans& plans, const proto::DataPlan& plan,
                                const JobModel& model,
                                const std::shared_ptr<DataStorage>& storage) {
  if (!source.zip().empty()) {
    return OpenPlannedZip(source, zip_plans, plan.train_zip(), model, storage);
  }
  if (source.mix().empty()) return Open(source, inspected, index, plan, model, storage);
  return OpenMix(source, [&](int number, const proto::DataSource& each) -> absl::StatusOr<Dataset> {
    if (number < plans.size()) {
      const proto::DataPlan& its = plans[number];
      return Open(each, its.train_files(), its.train_index(), its, model, storage);
    }
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(each, model));
    proto::DataPlan found;
    CAIRN_RETURN_IF_ERROR(InspectSource(each, files, {}, &found));
    CAIRN_RETURN_IF_ERROR(CheckShared(each, found, plan));
    return Open(each, {}, {}, plan, model, storage);
  });
}

// Opens the training data and, with a validation_fraction, the validation data, which are a part of
// the same files.
absl::Status OpenTraining(const proto::JobPlan& plan, const JobModel& model,
                          const std::shared_ptr<DataStorage>& storage, JobData* data) {
  CAIRN_ASSIGN_OR_RETURN(
      const Dataset all,
      OpenAny(plan.job().train(), plan.data().train_files(), plan.data().train_index(),
              plan.data().train_zip(), plan.data().train_mix(), plan.data(), model, storage));
  if (!plan.job().train().mix().empty()) {
    data->train = std::make_shared<const Dataset>(all);
    return absl::OkStatus();
  }
  CAIRN_ASSIGN_OR_RETURN(const Split split, SplitRows(plan.job(), all.examples()));
  data->train = std::make_shared<const Dataset>(all.Subset(0, split.training, split.order));
  if (split.training == split.rows) return absl::OkStatus();
  data->validation = std::make_shared<const Dataset>(
      all.Subset(split.training, split.rows - split.training, split.order));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobData> LoadJobData(const proto::JobPlan& plan, const JobModel& model,
                                    const DataStorage::Options& options, bool train,
                                    bool validation, const std::string& validation_name) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.load"));
  JobData data;
  const auto storage = std::make_shared<DataStorage>(options);
  const proto::Job& job = plan.job();
  if (train || (validation && job.has_validation_fraction())) {
    CAIRN_ASSIGN_OR_RETURN(
        data, Within<JobData>(FieldOf("train", job.train()), [&]() -> absl::StatusOr<JobData> {
          JobData opened;
          CAIRN_RETURN_IF_ERROR(OpenTraining(plan, model, storage, &opened));
          return opened;
        }));
  }
  if (validation && job.has_validation()) {
    const std::string name =
        validation_name.empty() ? FieldOf("validation", job.validation()) : validation_name;
    CAIRN_ASSIGN_OR_RETURN(Dataset opened, Within<Dataset>(name, [&] {
                             return OpenAny(
                                 job::ValidationSource(job), plan.data().validation_files(),
                                 plan.data().validation_index(), plan.data().validation_zip(),
                                 plan.data().validation_mix(), plan.data(), model, storage);
                           }));
    data.validation = std::make_shared<const Dataset>(std::move(opened));
  }
  // validation_steps.
  if (data.validation != nullptr && job.has_validation_steps() &&
      plan.validation_examples() < data.validation->examples()) {
    data.validation =
        std::make_shared<const Dataset>(data.validation->First(plan.validation_examples()));
  }
  if (!train) data.train = nullptr;
  if (!validation) data.validation = nullptr;
  return data;
}

absl::StatusOr<std::shared_ptr<const Dataset>> LoadInputs(const proto::JobPlan& plan,
                                                          const nn::Model& model,
                                                          const DataStorage::Options& options) {
  const PlannedFiles planned = {.storage = std::make_shared<DataStorage>(options)};
  const auto load = [&planned](proto::DataSource source, const proto::DataPlan& fixed,
                               const nn::Signature& signature) -> absl::StatusOr<Dataset> {
    // Every row has its prediction.
    source.clear_skip_damaged();
    if (source.has_parquet()) source.mutable_parquet()->clear_filter();
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files,
                           ListFiles(source, signature, /*needs_labels=*/false));
    const std::vector<LabelSpec> no_labels;
    CAIRN_ASSIGN_OR_RETURN(
        SourceArrays arrays,
        ReadSource({source, files, fixed, signature, no_labels, planned.storage.get(), &planned}));
    return Dataset::CreateInputs(std::move(arrays), source, fixed, signature);
  };
  return Within<std::shared_ptr<const Dataset>>(
      "--input", [&]() -> absl::StatusOr<std::shared_ptr<const Dataset>> {
        const proto::DataSource source = job::ValidationSource(plan.job());
        if (source.zip().empty()) {
          CAIRN_ASSIGN_OR_RETURN(Dataset inputs, load(source, plan.data(), model));
          return std::make_shared<const Dataset>(std::move(inputs));
        }
        std::vector<ZippedPart> parts;
        for (int i = 0; i < source.zip_size(); ++i) {
          const proto::ZippedSource& zipped = source.zip(i);
          if (zipped.inputs().empty()) continue;
          const std::vector<int> places = job::InputsOf(zipped, model);
          CAIRN_ASSIGN_OR_RETURN(Dataset inputs,
                                 load(zipped.source(), FixedFor(i, plan.data().train_zip()),
                                      nn::Signature(model).Part(places, {})));
          parts.push_back({{std::move(inputs), places, {}}, {}});
        }
        CAIRN_ASSIGN_OR_RETURN(Dataset inputs, ZipParts(std::move(parts)));
        return std::make_shared<const Dataset>(std::move(inputs));
      });
}

absl::StatusOr<std::vector<proto::DataFiles>> FingerprintValidation(const proto::JobPlan& plan,
                                                                    const nn::Model& model,
                                                                    bool needs_labels) {
  std::vector<proto::DataFiles> groups;
  const bool has_own = plan.job().has_validation();
  const proto::DataPlan& data = plan.data();
  const bool is_planned =
      has_own
          ? !data.validation_files().empty() || !data.validation_mix().empty() ||
                !data.validation_zip().empty()
          : !data.train_files().empty() || !data.train_mix().empty() || !data.train_zip().empty();
  if (needs_labels && is_planned) return groups;
  std::vector<std::string> names;
  std::vector<uint64_t> prints;
  const proto::DataSource all = has_own ? job::ValidationSource(plan.job()) : plan.job().train();
  const std::vector<proto::DataSource> sources = job::SourcesOf(all);
  for (size_t i = 0; i < sources.size(); ++i) {
    nn::Signature signature = model;
    bool has_labels = needs_labels;
    if (!all.zip().empty()) {
      const proto::ZippedSource& zipped = all.zip(static_cast<int>(i));
      if (!needs_labels && zipped.inputs().empty()) continue;
      has_labels = needs_labels && !zipped.outputs().empty();
      CAIRN_ASSIGN_OR_RETURN(signature,
                             job::PartOf(absl::StrCat("zip[", i, "]"), signature, zipped));
    }
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListFiles(sources[i], signature, has_labels));
    CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> its, FingerprintFiles(files));
    absl::c_copy(files.All(), std::back_inserter(names));
    absl::c_copy(its, std::back_inserter(prints));
  }
  const size_t of_group = (names.size() + kFileGroupsMax - 1) / kFileGroupsMax;
  for (size_t i = 0; i < names.size(); i += of_group) {
    const size_t count = std::min(of_group, names.size() - i);
    proto::DataFiles& group = groups.emplace_back();
    group.set_first(names[i]);
    group.set_count(static_cast<int64_t>(count));
    group.set_fingerprint(XXH3_64bits(&prints[i], count * sizeof(prints[i])));
  }
  return groups;
}

proto::InspectReply InspectJob(const proto::Inspect& inspect, const DataStorage::Options& storage) {
  proto::InspectReply reply;
  reply.set_job_id(inspect.job_id());
  reply.set_inspection(inspect.inspection());
  const absl::Status status = InspectInto(inspect, storage, &reply);
  if (!status.ok()) reply.set_error(std::string(status.message()));
  reply.set_transient(absl::IsUnavailable(status));
  CAIRN_FAILPOINT("worker.inspected").IgnoreError();
  return reply;
}

}  // namespace cairn::worker
