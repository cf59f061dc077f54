#include "coordinator/data_inspection.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/plural.h"
#include "job/data_source.h"

namespace cairn::coordinator {
namespace {

// Of each worker, so that those that are faster read more.
constexpr size_t kPartsPerWorker = 4;
constexpr size_t kPartsMax = 4096;

proto::Command InspectCommand(const proto::JobRecord& record, const proto::Job& job) {
  proto::Command command;
  proto::Inspect& inspect = *command.mutable_inspect();
  inspect.set_job_id(record.job_id());
  *inspect.mutable_job() = job;
  *inspect.mutable_model() = record.model();
  return command;
}

}  // namespace

void DataInspection::Advance(const proto::JobRecord& record, const proto::Job& job,
                             absl::Span<const TaskId> workers, Outbox* outbox) {
  if (workers.empty()) return;
  if (!std::exchange(is_divided_, true) && workers.size() > 1 && job::IsDivisible(job.train())) {
    parts_.resize(std::min(kPartsPerWorker * workers.size(), kPartsMax));
  }
  if (AllFound()) {
    if (inspector_.has_value()) return;
    inspector_ = workers.front();
    asked_for_all_ = true;
    proto::Command command = InspectCommand(record, job);
    if (!parts_.empty()) *command.mutable_inspect()->mutable_survey() = Merged();
    return outbox->Send(*inspector_, std::move(command));
  }
  const std::vector<TaskId> reading = readers();
  const std::set<TaskId> busy(reading.begin(), reading.end());
  for (const TaskId worker : workers) {
    if (busy.contains(worker)) continue;
    const auto part = absl::c_find_if(
        parts_, [](const Part& each) { return !each.reader.has_value() && !each.found; });
    if (part == parts_.end()) return;
    part->reader = worker;
    proto::Command command = InspectCommand(record, job);
    command.mutable_inspect()->set_parts(static_cast<uint32_t>(parts_.size()));
    command.mutable_inspect()->set_part(static_cast<uint32_t>(part - parts_.begin()));
    outbox->Send(worker, std::move(command));
  }
}

absl::Status DataInspection::OnSurveyed(TaskId worker, proto::DataSurvey survey) {
  const auto parts = static_cast<int64_t>(parts_.size());
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
  Part& read = parts_[part];
  read.reader.reset();
  if (!read.found) read.found = std::move(survey);
  return absl::OkStatus();
}

void DataInspection::Release(TaskId worker) {
  if (inspector_ == worker) inspector_.reset();
  for (Part& part : parts_) {
    if (part.reader == worker) part.reader.reset();
  }
}

std::string DataInspection::WorkOf(TaskId worker) const {
  if (inspector_ == worker) return "the data to inspect";
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].reader != worker) continue;
    return absl::StrCat("part ", i + 1, " of ", parts_.size(), " of the training data to inspect");
  }
  return "";
}

std::vector<TaskId> DataInspection::readers() const {
  std::vector<TaskId> readers;
  for (const Part& part : parts_) {
    if (part.reader.has_value()) readers.push_back(*part.reader);
  }
  if (inspector_.has_value()) readers.push_back(*inspector_);
  return readers;
}

bool DataInspection::AllFound() const {
  return absl::c_all_of(parts_, [](const Part& part) { return part.found.has_value(); });
}

proto::DataSurvey DataInspection::Merged() const {
  proto::DataSurvey all;
  all.set_files(files_);
  all.set_names(names_);
  for (const Part& part : parts_) {
    all.mutable_index()->MergeFrom(part.found->index());
    all.mutable_fingerprints()->MergeFrom(part.found->fingerprints());
    const proto::DamagedRecords& damaged = part.found->damaged();
    if (damaged.count() == 0) continue;
    if (!all.has_damaged()) all.mutable_damaged()->set_first_error(damaged.first_error());
    all.mutable_damaged()->set_count(all.damaged().count() + damaged.count());
  }
  return all;
}

}  // namespace cairn::coordinator
