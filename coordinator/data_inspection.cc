#include "coordinator/data_inspection.h"

#include <algorithm>
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

proto::Command InspectCommand(const proto::JobRecord& record, const proto::Job& job) {
  proto::Command command;
  proto::Inspect& inspect = *command.mutable_inspect();
  inspect.set_job_id(record.job_id());
  *inspect.mutable_job() = job;
  *inspect.mutable_model() = record.model();
  return command;
}

// What is added up must fit.
absl::Status CheckCounts(TaskId worker, const proto::DataSurvey& survey) {
  constexpr int64_t kExamplesMax = int64_t{1} << 40;
  int64_t total = 0;
  const auto add = [&total](int64_t count) {
    if (count < 0 || count > kExamplesMax - total) return false;
    total += count;
    return true;
  };
  for (const proto::IndexedFile& file : survey.index()) {
    const int64_t before = total;
    bool fits = add(file.examples());
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

void DataInspection::Advance(const proto::JobRecord& record, const proto::Job& job,
                             absl::Span<const TaskId> workers, Outbox* outbox) {
  if (workers.empty() || inspector_.has_value()) return;
  const size_t parts = std::min(kPartsPerWorker * workers.size(), kPartsMax);
  if (!std::exchange(is_begun_, true) && workers.size() > 1 && job::IsDivisible(job.train())) {
    surveyed_.resize(parts);
    found_.resize(parts);
  }
  const auto command = [&] {
    proto::Command result = InspectCommand(record, job);
    result.mutable_inspect()->set_inspection(id_);
    if (survey_.has_value()) *result.mutable_inspect()->mutable_survey() = *survey_;
    return result;
  };
  if (!AreRead(surveyed_)) return AskForParts(command, workers, &surveyed_, outbox);
  if (!surveyed_.empty() && !survey_.has_value()) {
    survey_ = Merged();
    found_.clear();
    if (job::IsReadAgain(job.train())) measured_.resize(MeasuredParts(parts));
  }
  if (!AreRead(measured_)) return AskForParts(command, workers, &measured_, outbox);
  inspector_ = workers.front();
  asked_for_all_ = true;
  proto::Command rest = command();
  if (moments_.has_value()) {
    proto::DataMeasurement& measurement = *rest.mutable_inspect()->mutable_measurement();
    for (const job::Moments& each : *moments_) *measurement.add_inputs() = each.ToProto();
  }
  outbox->Send(*inspector_, std::move(rest));
}

size_t DataInspection::MeasuredParts(size_t wanted) const {
  size_t units = 0;
  for (const proto::IndexedFile& file : survey_->index()) {
    units += std::max(1, file.part_examples_size());
  }
  const size_t most = kSurveyBytesMax / std::max<size_t>(1, survey_->ByteSizeLong());
  return std::max<size_t>(1, std::min({wanted, units, most}));
}

void DataInspection::AskForParts(absl::FunctionRef<proto::Command()> make,
                                 absl::Span<const TaskId> workers, Parts* parts, Outbox* outbox) {
  const std::vector<TaskId> reading = readers();
  const std::set<TaskId> busy(reading.begin(), reading.end());
  for (const TaskId worker : workers) {
    if (busy.contains(worker)) continue;
    const auto part = absl::c_find_if(
        *parts, [](const Part& each) { return !each.reader.has_value() && !each.is_read; });
    if (part == parts->end()) return;
    part->reader = worker;
    proto::Command command = make();
    command.mutable_inspect()->set_parts(static_cast<uint32_t>(parts->size()));
    command.mutable_inspect()->set_part(static_cast<uint32_t>(part - parts->begin()));
    outbox->Send(worker, std::move(command));
  }
}

absl::Status DataInspection::OnPart(TaskId worker, const proto::InspectReply& reply) {
  return reply.has_survey() ? OnSurveyed(worker, reply.survey())
                            : OnMeasured(worker, reply.measurement());
}

absl::Status DataInspection::OnSurveyed(TaskId worker, const proto::DataSurvey& survey) {
  const auto parts = static_cast<int64_t>(surveyed_.size());
  const auto part = static_cast<int64_t>(survey.part());
  const int64_t files = survey.files();
  constexpr int64_t kFilesMax = int64_t{1} << 40;
  if (part >= parts || files < 0 || files > kFilesMax) {
    return absl::InvalidArgumentError(absl::StrCat(worker.Name(), " replied about part ", part,
                                                   " of ", parts, " of ", files, " data files"));
  }
  const int64_t expected = files * (part + 1) / parts - files * part / parts;
  if (survey.index_size() != expected || survey.fingerprints_size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat(worker.Name(), " replied about ",
                                                   survey.index_size(), " data files, not ",
                                                   expected, " of part ", part));
  }
  CAIRN_RETURN_IF_ERROR(CheckCounts(worker, survey));
  if (!first_.has_value()) {
    first_ = worker;
    files_ = files;
    names_ = survey.names();
  }
  if (files != files_) {
    return absl::InvalidArgumentError(
        absl::StrCat("all workers need the same data files: ", worker.Name(), " has ", files,
                     " for training, ", first_->Name(), " has ", files_));
  }
  if (survey.names() != names_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "all workers need the same data files: of those for training, ", worker.Name(), " and ",
        first_->Name(), " have ", Plural(files, "file"), " with different names"));
  }
  Part& read = surveyed_[part];
  if (!read.is_read) found_[part] = survey;
  read.SetRead(worker);
  return absl::OkStatus();
}

absl::Status DataInspection::OnMeasured(TaskId worker, const proto::DataMeasurement& measurement) {
  if (measurement.part() >= measured_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(worker.Name(), " measured part ",
                                                   measurement.part(), " of ", measured_.size()));
  }
  Part& read = measured_[measurement.part()];
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
  for (Parts* const parts : {&surveyed_, &measured_}) {
    for (Part& part : *parts) {
      if (part.reader == worker) part.reader.reset();
    }
  }
}

std::string DataInspection::WorkOf(TaskId worker) const {
  if (inspector_ == worker) return "the data to inspect";
  for (const Parts* const parts : {&surveyed_, &measured_}) {
    for (size_t i = 0; i < parts->size(); ++i) {
      if ((*parts)[i].reader != worker) continue;
      return absl::StrCat("part ", i + 1, " of ", parts->size(), " of the training data to ",
                          parts == &surveyed_ ? "inspect" : "measure");
    }
  }
  return "";
}

std::vector<TaskId> DataInspection::readers() const {
  std::vector<TaskId> readers;
  for (const Parts* const parts : {&surveyed_, &measured_}) {
    for (const Part& part : *parts) {
      if (part.reader.has_value()) readers.push_back(*part.reader);
    }
  }
  if (inspector_.has_value()) readers.push_back(*inspector_);
  return readers;
}

bool DataInspection::AreRead(const Parts& parts) {
  return absl::c_all_of(parts, [](const Part& part) { return part.is_read; });
}

proto::DataSurvey DataInspection::Merged() const {
  proto::DataSurvey all;
  all.set_files(files_);
  all.set_names(names_);
  for (const proto::DataSurvey& part : found_) {
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
