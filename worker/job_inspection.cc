#include "worker/job_inspection.h"

#include <xxhash.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/data_source.h"
#include "job/moments.h"
#include "job/value_steps.h"
#include "worker/job_model.h"
#include "worker/job_sources.h"

namespace cairn::worker {
namespace {

// What is found in a part is sent to the coordinator in one message.
constexpr size_t kSearchBytesMax = size_t{16} << 20;

// Two lists of files are the same if this is.
uint64_t NamesHash(const std::vector<std::string>& names) {
  uint64_t hash = 0;
  for (const std::string& name : names) hash = XXH3_64bits_withSeed(name.data(), name.size(), hash);
  return hash;
}

using Surveys = google::protobuf::RepeatedPtrField<proto::DataSurvey>;

bool IsAt(const proto::SourcePlace& place, bool is_validation, int number) {
  return place.is_validation() == is_validation && place.number() == static_cast<uint32_t>(number);
}

class Inspection {
 public:
  Inspection(const proto::Inspect& inspect, const JobModel& model,
             std::shared_ptr<DataStorage> storage, proto::InspectReply* reply)
      : job_(inspect.job()),
        model_(model),
        found_(inspect.has_found() ? &inspect.found() : nullptr),
        surveys_(inspect.surveys()),
        measurement_(inspect.has_measurement() ? &inspect.measurement() : nullptr),
        storage_(std::move(storage)),
        reply_(*reply) {}

  absl::StatusOr<bool> Train() {
    proto::DataPlan& plan = *reply_.mutable_data();
    if (!job_.train().mix().empty()) {
      proto::DamagedRecords damaged;
      CAIRN_ASSIGN_OR_RETURN(const int64_t examples, Mix(job_.train(), /*is_validation=*/false,
                                                         plan.mutable_train_mix(), &damaged));
      if (damaged.count() > 0) *plan.mutable_train_damaged() = damaged;
      reply_.set_examples(examples);
      return true;
    }
    if (!job_.train().zip().empty()) return TrainZip(&plan);
    CAIRN_ASSIGN_OR_RETURN(Dataset data, OpenTraining(&plan));
    CAIRN_ASSIGN_OR_RETURN(const RowSplit split, SplitRows(job_, data.examples()));
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
    CAIRN_ASSIGN_OR_RETURN(const RowSplit split, SplitRows(job_, data.examples()));
    const Dataset::RowRange rows = data.RowsOf(part, parts);
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
      CAIRN_ASSIGN_OR_RETURN(const int64_t examples, Mix(source, /*is_validation=*/true,
                                                         plan.mutable_validation_mix(), &damaged));
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
    const proto::DataSurvey* const survey = SurveyOf(/*is_validation=*/true, 0);
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(source, model_));
    CAIRN_ASSIGN_OR_RETURN(*plan.mutable_validation_files(), Fingerprint(files, survey));
    Findings found;
    CAIRN_ASSIGN_OR_RETURN(const Dataset data, Open(source, files, plan.validation_files(), survey,
                                                    plan, model_.data_model(), &found));
    if (found.damaged.count() > 0) {
      *plan.mutable_validation_damaged() = WithoutPlaces(found.damaged);
    }
    plan.mutable_validation_index()->Assign(found.index.begin(), found.index.end());
    reply_.set_validation_examples(data.examples());
    CAIRN_RETURN_IF_ERROR(data.CheckSteps(data.all_rows()));
    return true;
  }

 private:
  // Null: the source is to be read.
  const proto::DataSurvey* SurveyOf(bool is_validation, int number) const {
    const auto survey = absl::c_find_if(surveys_, [&](const proto::DataSurvey& each) {
      return IsAt(each.place(), is_validation, number);
    });
    return survey == surveys_.end() ? nullptr : &*survey;
  }

  // With a survey, only those of other files are computed.
  static absl::StatusOr<Fingerprints> Fingerprint(const SourceFiles& files,
                                                  const proto::DataSurvey* survey) {
    if (survey == nullptr) {
      CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(files));
      return Fingerprints(prints.begin(), prints.end());
    }
    const auto listed = static_cast<int64_t>(files.features[0].size());
    if (listed != survey->files() || NamesHash(files.features[0]) != survey->names()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the data files were changed while they were inspected, or this worker sees "
          "others: it has ",
          Plural(listed, "file"),
          listed == survey->files() ? std::string(" with other names")
                                    : absl::StrCat(", and ", survey->files(), " were inspected")));
    }
    SourceFiles others = files;
    others.features.clear();
    CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(others));
    Fingerprints all = survey->fingerprints();
    all.Add(prints.begin(), prints.end());
    return all;
  }

  // With a survey, the files are only read where their examples are.
  absl::StatusOr<Dataset> Open(const proto::DataSource& source, const SourceFiles& files,
                               const Fingerprints& prints, const proto::DataSurvey* survey,
                               const proto::DataPlan& plan, const nn::Signature& signature,
                               Findings* found) const {
    if (survey == nullptr) {
      return OpenSource(source, files, plan, signature, model_.data_objective(), storage_.get(),
                        nullptr, found);
    }
    CAIRN_RETURN_IF_ERROR(CheckDamage(survey->damaged(), source.skip_damaged()));
    *found = {survey->damaged(), {survey->index().begin(), survey->index().end()}};
    return OpenFiles(source, files, prints, survey->index(), plan, signature,
                     model_.data_objective(), storage_);
  }

  // Empty: all rows are for training. Both must outlive it.
  static ChooseTrainingRows ChoiceOf(const proto::Job& job, const proto::DataSource& source) {
    if (!job::ChoosesRows(job, source)) return {};
    return [&](int64_t rows, const std::vector<int32_t>& passed) {
      return ChooseRows(job, source, rows, passed);
    };
  }

  static bool IsMeasured(const proto::DataSource& source) {
    return source.standardize() || absl::c_any_of(source.pipeline(), job::IsMeasured);
  }

  // Only of training rows: statistics that saw validation rows would make the validation biased.
  absl::StatusOr<std::vector<job::Moments>> Measure(const Dataset& data, const RowSplit& split,
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
    const proto::DataSurvey* const survey = SurveyOf(/*is_validation=*/false, 0);
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(train, model_));
    CAIRN_ASSIGN_OR_RETURN(*plan->mutable_train_files(), Fingerprint(files, survey));
    // Before the data are opened: opening CSV encodes text by the vocabularies in the plan.
    if (found_ == nullptr) {
      CAIRN_RETURN_IF_ERROR(InspectAlone(train, files, ChoiceOf(job_, train), plan));
    } else {
      CAIRN_RETURN_IF_ERROR(InspectSource(train, files, plan));
      plan->mutable_vocabularies()->MergeFrom(found_->vocabularies());
      plan->mutable_fills()->MergeFrom(found_->fills());
    }
    Findings found;
    CAIRN_ASSIGN_OR_RETURN(Dataset data, Open(train, files, plan->train_files(), survey, *plan,
                                              model_.data_model(), &found));
    if (found.damaged.count() > 0) *plan->mutable_train_damaged() = WithoutPlaces(found.damaged);
    plan->mutable_train_index()->Assign(found.index.begin(), found.index.end());
    return data;
  }

  absl::StatusOr<bool> TrainZip(proto::DataPlan* plan) {
    const proto::DataSource& train = job_.train();
    proto::DamagedRecords damaged;
    CAIRN_ASSIGN_OR_RETURN(Dataset data, Zip(train, nullptr, plan->mutable_train_zip(), &damaged));
    if (damaged.count() > 0) *plan->mutable_train_damaged() = damaged;
    CAIRN_ASSIGN_OR_RETURN(const RowSplit split, SplitRows(job_, data.examples()));
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
      const proto::DataSurvey* const survey = SurveyOf(train != nullptr, number);
      CAIRN_ASSIGN_OR_RETURN(const SourceFiles files,
                             ListFiles(source, part, /*needs_labels=*/!part.outputs().empty()));
      CAIRN_ASSIGN_OR_RETURN(*plan.mutable_train_files(), Fingerprint(files, survey));
      if (train == nullptr) {
        CAIRN_RETURN_IF_ERROR(InspectAlone(source, files, ChoiceOf(job, source), &plan));
      }
      Findings found;
      CAIRN_ASSIGN_OR_RETURN(
          Dataset data, Open(source, files, plan.train_files(), survey,
                             train == nullptr ? plan : FixedFor(number, *train), part, &found));
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
  absl::StatusOr<int64_t> Mix(const proto::DataSource& mix, bool is_validation, DataPlans* plans,
                              proto::DamagedRecords* damaged) {
    const auto open = [&](int number, const proto::DataSource& source) -> absl::StatusOr<Dataset> {
      proto::DataPlan& plan = *plans->Add();
      const proto::DataSurvey* const survey = SurveyOf(is_validation, number);
      CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(source, model_));
      CAIRN_ASSIGN_OR_RETURN(*plan.mutable_train_files(), Fingerprint(files, survey));
      CAIRN_RETURN_IF_ERROR(InspectSource(source, files, &plan));
      // Of a validation mixture: the statistics of the training data.
      *plan.mutable_inputs() = reply_.data().inputs();
      CAIRN_RETURN_IF_ERROR(CheckShared(source, plan, proto::DataPlan()));
      Findings found;
      CAIRN_ASSIGN_OR_RETURN(Dataset data, Open(source, files, plan.train_files(), survey, plan,
                                                model_.data_model(), &found));
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
  const proto::DataPlan* const found_;               // Null: open columns are to be searched.
  const Surveys& surveys_;                           // The other sources are to be read.
  const proto::DataMeasurement* const measurement_;  // Null: their rows are to be measured.
  const std::shared_ptr<DataStorage> storage_;
  proto::InspectReply& reply_;
};

// Of a survey: its source. None: all of the training data.
absl::StatusOr<std::optional<job::PlacedSource>> CheckPart(const proto::Inspect& inspect) {
  std::optional<job::PlacedSource> surveyed;
  bool exists = job::IsDivisible(inspect.job().train());
  if (inspect.stage() == proto::Inspect::SURVEY) {
    for (job::PlacedSource& each : job::SurveyedSources(inspect.job())) {
      if (IsAt(inspect.place(), each.is_validation, each.number)) surveyed = std::move(each);
    }
    exists = surveyed.has_value();
  }
  if (exists && inspect.part() < inspect.parts()) return surveyed;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no part ", inspect.part(), " of ", inspect.parts()));
}

// All files of a source that this worker sees, and those of the part.
struct PartFiles {
  SourceFiles all;
  SourceFiles part;

  static PartFiles Of(const proto::Inspect& inspect, SourceFiles all) {
    PartFiles files;
    files.all = std::move(all);
    const std::vector<std::string>& names = files.all.features[0];
    const uint64_t begin = names.size() * inspect.part() / inspect.parts();
    const uint64_t end = names.size() * (inspect.part() + 1) / inspect.parts();
    files.part.features = {{names.begin() + begin, names.begin() + end}};
    return files;
  }
  bool is_empty() const { return part.features[0].empty(); }

  template <typename Reply>
  void Describe(const proto::Inspect& inspect, Reply* reply) const {
    reply->set_part(inspect.part());
    reply->set_files(static_cast<int64_t>(all.features[0].size()));
    reply->set_names(NamesHash(all.features[0]));
  }
};

// Adds to the plan the columns of a csv source that names none. Those of validation data are those
// of the training data, `train`, if it is csv that names none, too; null: there is no such source.
absl::Status FindColumns(const job::PlacedSource& surveyed, const SourceFiles& files,
                         const proto::DataSource* train, const nn::Signature& signature,
                         bool needs_labels, proto::DataPlan* plan) {
  if (!surveyed.source.has_csv() || !surveyed.source.csv().features().empty()) {
    return absl::OkStatus();
  }
  if (train != nullptr && train->has_csv()) {
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles others, ListFiles(*train, signature, needs_labels));
    CAIRN_RETURN_IF_ERROR(InspectSource(*train, others, plan));
  }
  // Otherwise each part would have those of its first file.
  if (!plan->csv_features().empty()) return absl::OkStatus();
  return InspectSource(surveyed.source, files, plan);
}

// Reads the files of one part of a source.
absl::StatusOr<proto::DataSurvey> Survey(const proto::Inspect& inspect,
                                         const job::PlacedSource& surveyed, const JobModel& model,
                                         DataStorage* storage) {
  const proto::DataSource& source = surveyed.source;
  const proto::DataSource all =
      surveyed.is_validation ? job::ValidationSource(inspect.job()) : inspect.job().train();
  nn::Signature signature = model.data_model();
  bool needs_labels = !model.data_objective().losses().empty();
  if (!all.zip().empty()) {
    CAIRN_ASSIGN_OR_RETURN(signature,
                           job::PartOf(surveyed.name, signature, all.zip(surveyed.number)));
    needs_labels = !signature.outputs().empty();
  }
  CAIRN_ASSIGN_OR_RETURN(SourceFiles listed, ListFiles(source, signature, needs_labels));
  const PartFiles files = PartFiles::Of(inspect, std::move(listed));
  proto::DataSurvey survey;
  *survey.mutable_place() = inspect.place();
  files.Describe(inspect, &survey);
  if (files.is_empty()) return survey;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(files.part));
  survey.mutable_fingerprints()->Assign(prints.begin(), prints.end());
  proto::DataPlan plan;
  if (surveyed.name.empty()) plan = inspect.found();
  if (!surveyed.is_validation || !all.mix().empty()) {
    CAIRN_RETURN_IF_ERROR(InspectSource(source, files.all, &plan));
    if (!all.mix().empty()) CAIRN_RETURN_IF_ERROR(CheckShared(source, plan, proto::DataPlan()));
  } else {
    const proto::DataSource& train = inspect.job().train();
    const bool is_one = all.zip().empty() && train.zip().empty() && train.mix().empty();
    const proto::DataSource* const fixing = is_one ? &train
                                            : surveyed.number < train.zip_size()
                                                ? &train.zip(surveyed.number).source()
                                                : nullptr;
    CAIRN_RETURN_IF_ERROR(FindColumns(surveyed, files.all, fixing, signature, needs_labels, &plan));
  }
  const auto label_specs = LabelSpecs(source, signature, model.data_objective());
  CAIRN_ASSIGN_OR_RETURN(const SourceArrays found,
                         SurveySource({source, files.part, plan, signature, label_specs, storage}));
  survey.mutable_index()->Assign(found.index.begin(), found.index.end());
  *survey.mutable_damaged() = found.damaged;
  survey.mutable_damaged()->clear_places();
  return survey;
}

// Searches the files of one part for what the source leaves open, or counts their rows.
absl::StatusOr<proto::DataSearch> Search(const proto::Inspect& inspect, const JobModel& model) {
  const proto::DataSource& train = inspect.job().train();
  CAIRN_ASSIGN_OR_RETURN(SourceFiles listed, ListJobFiles(train, model));
  const PartFiles files = PartFiles::Of(inspect, std::move(listed));
  proto::DataSearch search;
  files.Describe(inspect, &search);
  search.set_is_count(inspect.stage() == proto::Inspect::COUNT);
  if (files.is_empty()) {
    // Nothing of each column.
    for (size_t i = 0; i < job::OpenColumns(train).size(); ++i)
      search.mutable_found()->add_columns();
    return search;
  }
  bool is_counted = false;
  ChooseTrainingRows choose;
  if (search.is_count()) {
    // The reader needs not go on when it has told the number.
    choose = [&](int64_t rows, const std::vector<int32_t>&) -> absl::StatusOr<IsTrainingRow> {
      search.set_rows(rows);
      is_counted = true;
      return absl::CancelledError("the rows are counted");
    };
  } else if (inspect.has_rows()) {
    // A source whose filters need all rows is not searched in parts.
    choose = [&](int64_t, const std::vector<int32_t>& passed) -> absl::StatusOr<IsTrainingRow> {
      CAIRN_ASSIGN_OR_RETURN(IsTrainingRow chosen,
                             ChooseRows(inspect.job(), train, inspect.rows(), passed));
      return [chosen = std::move(chosen), before = inspect.rows_before()](int64_t row) {
        return chosen(before + row);
      };
    };
  }
  absl::StatusOr<proto::DataFindings> found = SearchSource(train, files.part, choose);
  if (is_counted) return search;
  CAIRN_ASSIGN_OR_RETURN(*search.mutable_found(), std::move(found));
  if (search.ByteSizeLong() > kSearchBytesMax) {
    search.clear_found();
    search.set_is_too_large(true);
  }
  return search;
}

absl::Status InspectPart(const proto::Inspect& inspect, const JobModel& model,
                         const std::shared_ptr<DataStorage>& storage, proto::InspectReply* reply) {
  CAIRN_ASSIGN_OR_RETURN(const auto surveyed, CheckPart(inspect));
  const bool is_validation = surveyed.has_value() && surveyed->is_validation;
  const std::string field = is_validation ? FieldOf("validation", inspect.job().validation())
                                          : FieldOf("train", inspect.job().train());
  switch (inspect.stage()) {
    case proto::Inspect::COUNT:
    case proto::Inspect::SEARCH: {
      CAIRN_ASSIGN_OR_RETURN(*reply->mutable_search(), Within<proto::DataSearch>(field, [&] {
        return Search(inspect, model);
      }));
      return absl::OkStatus();
    }
    case proto::Inspect::SURVEY: {
      const std::string& name = surveyed->name;
      CAIRN_ASSIGN_OR_RETURN(
          *reply->mutable_survey(),
          Within<proto::DataSurvey>(name.empty() ? field : absl::StrCat(field, ": ", name), [&] {
            return Survey(inspect, *surveyed, model, storage.get());
          }));
      return absl::OkStatus();
    }
    case proto::Inspect::MEASURE: {
      proto::InspectReply ignored;
      Inspection inspection(inspect, model, storage, &ignored);
      CAIRN_ASSIGN_OR_RETURN(*reply->mutable_measurement(),
                             Within<proto::DataMeasurement>(field, [&] {
                               return inspection.MeasurePart(inspect.part(), inspect.parts());
                             }));
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("there is no stage ", static_cast<int>(inspect.stage())));
  }
}

absl::Status InspectInto(const proto::Inspect& inspect, const DataStorage::Options& options,
                         proto::InspectReply* reply) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.inspect"));
  CAIRN_ASSIGN_OR_RETURN(const JobModel model, JobModel::Create(inspect.job(), inspect.model()));
  const auto storage = std::make_shared<DataStorage>(options);
  if (inspect.stage() != proto::Inspect::REST) return InspectPart(inspect, model, storage, reply);
  Inspection inspection(inspect, model, storage, reply);
  const std::string field = FieldOf("train", inspect.job().train());
  CAIRN_RETURN_IF_ERROR(Within<bool>(field, [&] { return inspection.Train(); }).status());
  if (!inspect.job().has_validation()) return absl::OkStatus();
  return Within<bool>(FieldOf("validation", inspect.job().validation()),
                      [&] { return inspection.Validation(); })
      .status();
}

}  // namespace

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
