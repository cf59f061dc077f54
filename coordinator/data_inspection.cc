#include "coordinator/data_inspection.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/data_source.h"

namespace cairn::coordinator {
namespace {

// Of each worker, so that those that are faster read more.
constexpr size_t kPartsPerWorker = 4;
constexpr size_t kPartsMax = 4096;
// Of the surveys that are sent with the parts to measure.
constexpr size_t kSurveyBytesMax = size_t{256} << 20;

// Of names and tokens that are put together here.
constexpr size_t kFindingsBytesMax = size_t{64} << 20;
constexpr int64_t kExamplesMax = int64_t{1} << 40;

// What is added up must fit.
absl::Status CheckCounts(TaskId worker, const proto::DataSurvey& survey) {
  int64_t total = 0;
  const auto add = [&total](int64_t count) {
    if (count < 0 || count > kExamplesMax - total) return false;
    total += count;
    return true;
  };
  for (const proto::IndexedFile& file : survey.index()) {
    const int64_t before = total;
    bool fits = add(file.examples());
    if (file.part_rows_size() != file.part_examples_size()) fits = false;
    if (!file.part_examples().empty()) {
      total = before;
      fits = fits && absl::c_all_of(file.part_examples(), add) && total - before == file.examples();
    }
    if (fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(worker.Name(), " found impossible numbers of examples: ", file.examples(),
                     " in a file with ", file.part_examples_size(), " parts"));
  }
  const int64_t damaged = survey.damaged().count();
  if (damaged >= 0 && damaged <= kExamplesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(worker.Name(), " found ", damaged, " damaged records"));
}

}  // namespace

void DataInspection::Begin(const proto::Job& job, size_t workers) {
  stage_ = kStages;
  if (workers < 2) return;
  for (const job::PlacedSource& each : job::SurveyedSources(job)) {
    Source& source = sources_.emplace_back();
    source.is_validation = each.is_validation;
    source.number = each.number;
    source.name = absl::StrCat(each.name, each.name.empty() ? "" : " of ", "the ",
                               each.is_validation ? "validation" : "training", " data");
  }
  if (sources_.empty()) return;
  stage_ = kCount;
  const size_t parts = std::min(kPartsPerWorker * workers, kPartsMax);
  // The parts of several sources are fewer, as they are not only of one.
  const size_t surveyed = std::min(std::max(workers, parts / sources_.size()),
                                   std::max<size_t>(1, kPartsMax / sources_.size()));
  for (Source& source : sources_) source.surveys.resize(surveyed);
  parts_[kSurvey].resize(sources_.size() * surveyed);
  if (!job::IsDivisible(job.train()) || job::OpenColumns(job.train()).empty()) return;
  if (job::SearchesTrainingRows(job)) parts_[kCount].resize(parts);
  rows_.resize(parts_[kCount].size());
  parts_[kSearch].resize(parts);
  findings_.emplace(job.train());
}

void DataInspection::EndStage(Stage stage, const proto::Job& job, size_t workers) {
  if (stage == kSearch && findings_.has_value()) {
    open_.emplace();
    // One worker finds the error again, and says where.
    if (!findings_->Report(&*open_).ok()) ReadByOne();
    findings_.reset();
  } else if (stage == kSurvey) {
    for (Source& source : sources_) {
      surveys_.push_back(Merged(source));
      source.surveys.clear();
    }
    if (!job::IsDivisible(job.train()) || !job::IsReadAgain(job.train())) return;
    parts_[kMeasure].resize(MeasuredParts(std::min(kPartsPerWorker * workers, kPartsMax)));
  }
}

void DataInspection::ReadByOne() {
  for (Parts& parts : parts_) parts.clear();
  findings_.reset();
  open_.reset();
  stage_ = kStages;
}

void DataInspection::Advance(const proto::JobRecord& record, const proto::Job& job,
                             absl::Span<const TaskId> workers, Outbox* outbox) {
  if (workers.empty() || inspector_.has_value()) return;
  if (!stage_.has_value()) Begin(job, workers.size());
  while (stage_ != kStages) {
    if (!AreRead(parts_[*stage_])) {
      return AskForParts(*stage_, CommandFor(record, job), workers, outbox);
    }
    EndStage(*stage_, job, workers.size());
    if (stage_ != kStages) stage_ = static_cast<Stage>(*stage_ + 1);
  }
  inspector_ = workers.front();
  asked_for_all_ = true;
  outbox->Send(*inspector_, CommandFor(record, job));
}

proto::Command DataInspection::CommandFor(const proto::JobRecord& record,
                                          const proto::Job& job) const {
  proto::Command command;
  proto::Inspect& inspect = *command.mutable_inspect();
  inspect.set_job_id(record.job_id());
  *inspect.mutable_job() = job;
  *inspect.mutable_model() = record.model();
  inspect.set_inspection(id_);
  if (open_.has_value()) *inspect.mutable_found() = *open_;
  if (stage_ == kMeasure) {
    *inspect.add_surveys() = surveys_.front();
  } else {
    inspect.mutable_surveys()->Assign(surveys_.begin(), surveys_.end());
  }
  if (!moments_.has_value()) return command;
  proto::DataMeasurement& measurement = *inspect.mutable_measurement();
  for (const job::Moments& each : *moments_) *measurement.add_inputs() = each.ToProto();
  return command;
}

size_t DataInspection::MeasuredParts(size_t wanted) const {
  size_t units = 0;
  for (const proto::IndexedFile& file : surveys_.front().index()) {
    units += std::max(1, file.part_examples_size());
  }
  const size_t most = kSurveyBytesMax / std::max<size_t>(1, surveys_.front().ByteSizeLong());
  return std::max<size_t>(1, std::min({wanted, units, most}));
}

void DataInspection::AskForParts(Stage stage, const proto::Command& command,
                                 absl::Span<const TaskId> workers, Outbox* outbox) {
  constexpr proto::Inspect::Stage kNames[] = {proto::Inspect::COUNT, proto::Inspect::SEARCH,
                                              proto::Inspect::SURVEY, proto::Inspect::MEASURE};
  const std::vector<TaskId> reading = readers();
  const std::set<TaskId> busy(reading.begin(), reading.end());
  Parts& parts = parts_[stage];
  for (const TaskId worker : workers) {
    if (busy.contains(worker)) continue;
    const auto part = absl::c_find_if(
        parts, [](const Part& each) { return !each.reader.has_value() && !each.is_read; });
    if (part == parts.end()) return;
    part->reader = worker;
    proto::Command asked = command;
    proto::Inspect& inspect = *asked.mutable_inspect();
    const auto number = static_cast<size_t>(part - parts.begin());
    const size_t of_source = stage == kSurvey ? parts_per_source() : parts.size();
    inspect.set_stage(kNames[stage]);
    inspect.set_parts(static_cast<uint32_t>(of_source));
    inspect.set_part(static_cast<uint32_t>(number % of_source));
    if (stage == kSurvey) SetPlace(sources_[number / of_source], inspect.mutable_place());
    if (stage == kSearch && !rows_.empty()) {
      inspect.set_has_rows(true);
      inspect.set_rows(absl::c_accumulate(rows_, int64_t{0}));
      inspect.set_rows_before(
          std::accumulate(rows_.begin(), rows_.begin() + inspect.part(), int64_t{0}));
    }
    outbox->Send(worker, std::move(asked));
  }
}

absl::Status DataInspection::OnPart(TaskId worker, const proto::InspectReply& reply) {
  if (reply.has_search()) return OnSearched(worker, reply.search());
  return reply.has_survey() ? OnSurveyed(worker, reply.survey())
                            : OnMeasured(worker, reply.measurement());
}

absl::Status DataInspection::CheckPart(TaskId worker, uint32_t part, size_t parts, int64_t files) {
  constexpr int64_t kFilesMax = int64_t{1} << 40;
  if (part < parts && files >= 0 && files <= kFilesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(worker.Name(), " replied about part ", part,
                                                 " of ", parts, " of ", files, " data files"));
}

absl::Status DataInspection::CheckFiles(TaskId worker, int64_t files, uint64_t names,
                                        Source* source) {
  if (!source->first.has_value()) {
    source->first = worker;
    source->files = files;
    source->names = names;
  }
  if (files != source->files) {
    return absl::InvalidArgumentError(
        absl::StrCat("all workers need the same data files: ", worker.Name(), " has ", files,
                     " of ", source->name, ", ", source->first->Name(), " has ", source->files));
  }
  if (names == source->names) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "all workers need the same data files: of those of ", source->name, ", ", worker.Name(),
      " and ", source->first->Name(), " have ", Plural(files, "file"), " with different names"));
}

absl::Status DataInspection::OnSearched(TaskId worker, const proto::DataSearch& search) {
  const Stage stage = search.is_count() ? kCount : kSearch;
  // Late: the stage is over, or one worker reads everything, maybe this one.
  if (stage_ != stage) {
    ReleaseParts(worker);
    return absl::OkStatus();
  }
  Parts& parts = parts_[stage];
  CAIRN_RETURN_IF_ERROR(CheckPart(worker, search.part(), parts.size(), search.files()));
  CAIRN_RETURN_IF_ERROR(CheckFiles(worker, search.files(), search.names(), &sources_.front()));
  Part& read = parts[search.part()];
  if (!read.is_read && search.is_count()) {
    if (search.rows() < 0 || search.rows() > kExamplesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(worker.Name(), " counted ", search.rows(), " rows"));
    }
    rows_[search.part()] = search.rows();
  } else if (!read.is_read && search.is_too_large()) {
    ReadByOne();
    return absl::OkStatus();
  } else if (!read.is_read) {
    const absl::Status status = findings_->Add(search.found());
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(worker.Name(), " replied with ", status.message()));
    }
    if (findings_->bytes() > kFindingsBytesMax) {
      ReadByOne();
      return absl::OkStatus();
    }
  }
  read.SetRead(worker);
  return absl::OkStatus();
}

absl::Status DataInspection::OnSurveyed(TaskId worker, const proto::DataSurvey& survey) {
  const auto source = absl::c_find_if(sources_, [&](const Source& each) {
    return each.is_validation == survey.place().is_validation() &&
           static_cast<uint32_t>(each.number) == survey.place().number();
  });
  const auto parts = static_cast<int64_t>(source == sources_.end() ? 0 : parts_per_source());
  const auto part = static_cast<int64_t>(survey.part());
  CAIRN_RETURN_IF_ERROR(CheckPart(worker, survey.part(), parts, survey.files()));
  CAIRN_RETURN_IF_ERROR(CheckFiles(worker, survey.files(), survey.names(), &*source));
  const int64_t files = survey.files();
  const int64_t expected = files * (part + 1) / parts - files * part / parts;
  if (survey.index_size() != expected || survey.fingerprints_size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat(worker.Name(), " replied about ",
                                                   survey.index_size(), " data files, not ",
                                                   expected, " of part ", part));
  }
  CAIRN_RETURN_IF_ERROR(CheckCounts(worker, survey));
  Part& read = parts_[kSurvey][(source - sources_.begin()) * parts + part];
  if (!read.is_read) source->surveys[part] = survey;
  read.SetRead(worker);
  return absl::OkStatus();
}

absl::Status DataInspection::OnMeasured(TaskId worker, const proto::DataMeasurement& measurement) {
  if (measurement.part() >= parts_[kMeasure].size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        worker.Name(), " measured part ", measurement.part(), " of ", parts_[kMeasure].size()));
  }
  Part& read = parts_[kMeasure][measurement.part()];
  if (read.is_read) {
    read.SetRead(worker);
    return absl::OkStatus();
  }
  for (const proto::Moments& each : measurement.inputs()) {
    if (each.places_size() <= job::Moments::kPlacesMax) continue;
    return absl::InvalidArgumentError(absl::StrCat(worker.Name(), " measured ", each.places_size(),
                                                   " places, at most ", job::Moments::kPlacesMax,
                                                   " are"));
  }
  if (!moments_.has_value()) {
    moments_.emplace();
    for (const proto::Moments& each : measurement.inputs()) {
      moments_->emplace_back(each.places_size());
    }
  }
  if (measurement.inputs_size() != static_cast<int>(moments_->size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        worker.Name(), " measured ", measurement.inputs_size(), " inputs, not ", moments_->size()));
  }
  for (int i = 0; i < measurement.inputs_size(); ++i) {
    const absl::Status status = (*moments_)[i].Add(measurement.inputs(i));
    if (status.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(worker.Name(), " measured input ", i, ": ", status.message()));
  }
  read.SetRead(worker);
  return absl::OkStatus();
}

void DataInspection::Release(TaskId worker) {
  if (inspector_ == worker) inspector_.reset();
  ReleaseParts(worker);
}

void DataInspection::ReleaseParts(TaskId worker) {
  for (Parts& parts : parts_) {
    for (Part& part : parts) {
      if (part.reader == worker) part.reader.reset();
    }
  }
}

std::string DataInspection::WorkOf(TaskId worker) const {
  constexpr const char* kWork[] = {"count", "search", "inspect", "measure"};
  if (inspector_ == worker) return "the data to inspect";
  for (size_t stage = 0; stage < parts_.size(); ++stage) {
    for (size_t i = 0; i < parts_[stage].size(); ++i) {
      if (parts_[stage][i].reader != worker) continue;
      const size_t parts = stage == kSurvey ? parts_per_source() : parts_[stage].size();
      return absl::StrCat("part ", i % parts + 1, " of ", parts, " of ", sources_[i / parts].name,
                          " to ", kWork[stage]);
    }
  }
  return "";
}

std::vector<TaskId> DataInspection::readers() const {
  std::vector<TaskId> readers;
  for (const Parts& parts : parts_) {
    for (const Part& part : parts) {
      if (part.reader.has_value()) readers.push_back(*part.reader);
    }
  }
  if (inspector_.has_value()) readers.push_back(*inspector_);
  return readers;
}

bool DataInspection::AreRead(const Parts& parts) {
  return absl::c_all_of(parts, [](const Part& part) { return part.is_read; });
}

void DataInspection::SetPlace(const Source& source, proto::SourcePlace* place) {
  place->set_is_validation(source.is_validation);
  place->set_number(static_cast<uint32_t>(source.number));
}

proto::DataSurvey DataInspection::Merged(const Source& source) {
  proto::DataSurvey all;
  SetPlace(source, all.mutable_place());
  all.set_files(source.files);
  all.set_names(source.names);
  for (const proto::DataSurvey& part : source.surveys) {
    all.mutable_index()->MergeFrom(part.index());
    all.mutable_fingerprints()->MergeFrom(part.fingerprints());
    const proto::DamagedRecords& damaged = part.damaged();
    if (damaged.count() == 0) continue;
    if (!all.has_damaged()) all.mutable_damaged()->set_first_error(damaged.first_error());
    all.mutable_damaged()->set_count(all.damaged().count() + damaged.count());
  }
  return all;
}

}  // namespace cairn::coordinator
