#include "cli/drill/drill_training.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/drill/drill_plan.h"
#include "cli/local/cluster_service.h"
#include "cli/model/trained_model.h"
#include "cli/state_source.h"
#include "cli/status_json.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr std::chrono::milliseconds kLookInterval(40);
constexpr absl::Duration kStartTimeout = absl::Minutes(1);
constexpr double kStuckSeconds = 300;
// A coordinator that hangs for longer counts as away.
constexpr absl::Duration kLookPatience = absl::Milliseconds(500);
constexpr absl::Duration kSubmitPatience = absl::Seconds(10);

absl::Duration Now() { return RealClock().Now(); }

}  // namespace

absl::Status DrillTraining::CheckGoingOn() const {
  if (interrupts_->exit_code() != 0) return absl::CancelledError("interrupted");
  return cluster_->failure();
}

absl::Status DrillTraining::Start(const Submission& submission) {
  CAIRN_ASSIGN_OR_RETURN(lock_, StateLock::Take(options_.state, "cairn drill"));
  CAIRN_ASSIGN_OR_RETURN(cluster_, LocalCluster::Start(options_));
  api_ = std::make_unique<CoordinatorApi>(cluster_->coordinator_address(), kLookPatience);
  CAIRN_RETURN_IF_ERROR(WaitForTasks());
  CoordinatorApi patient(cluster_->coordinator_address(), kSubmitPatience);
  CAIRN_ASSIGN_OR_RETURN(const proto::SubmitReply reply,
                         Submit(&patient, submission, /*reuse=*/true));
  job_id_ = absl::StrCat(reply.job_id());
  job_ = reply.status();
  begin_ = Now();
  return absl::OkStatus();
}

absl::Status DrillTraining::WaitForTasks() {
  const absl::Duration end = Now() + kStartTimeout;
  while (true) {
    CAIRN_RETURN_IF_ERROR(CheckGoingOn());
    const auto status = api_->GetCluster();
    if (status.ok()) cluster_status_ = *status;
    if (AllTasksLive()) return absl::OkStatus();
    if (Now() > end) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the tasks of the local cluster did not come up within a minute; see their logs in ",
          options_.state, "/logs"));
    }
    std::this_thread::sleep_for(kLookInterval);
  }
}

bool DrillTraining::AllTasksLive() const {
  if (!cluster_status_) return false;
  int live = 0;
  for (const proto::Member& member : cluster_status_->members()) {
    live += member.live() && member.named() ? 1 : 0;
  }
  return live == HoldersOf(options_.ps, options_.workers) + options_.workers;
}

bool DrillTraining::has_ended() const { return HasEnded(job_.state()); }

bool DrillTraining::is_whole() const { return job_.state() == proto::RUNNING && AllTasksLive(); }

absl::Status DrillTraining::Look() {
  std::this_thread::sleep_for(kLookInterval);
  CAIRN_RETURN_IF_ERROR(CheckGoingOn());
  const auto job = api_->GetJob(job_id_);
  const auto cluster = api_->GetCluster();
  seconds_ = absl::ToDoubleSeconds(Now() - begin_);
  cluster_status_ = cluster.ok() ? std::optional(*cluster) : std::nullopt;
  if (job.ok()) {
    job_ = *job;
    progress_.push_back({seconds_, job_.batches_done()});
    if (storage::WasRefused(job_)) return absl::InvalidArgumentError(job_.error());
  }
  if (job_.batches_done() > batches_max_) {
    batches_max_ = job_.batches_done();
    batches_max_at_ = seconds_;
  }
  if (seconds_ - batches_max_at_ < kStuckSeconds) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("the job has made no progress for ",
                                                  kStuckSeconds, " s; see the logs in ",
                                                  options_.state, "/logs"));
}

void DrillTraining::RequestCheckpoint() {
  constexpr absl::Duration kPatience = absl::Seconds(10);
  if (checkpoint_.valid() &&
      checkpoint_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return;
  }
  checkpoint_ = std::async(std::launch::async, [this] {
    CoordinatorApi api(cluster_->coordinator_address(), kLookPatience);
    // It is the disks' work that is wanted, so a failure is as good.
    api.TakeCheckpoint(job_id_, kPatience).IgnoreError();
  });
}

TrainingResult DrillTraining::Finish(TrainedValues* values) {
  cluster_->Stop(kStopGrace);
  if (checkpoint_.valid()) checkpoint_.wait();
  cluster_ = nullptr;
  TrainingResult result;
  result.finished = job_.state() == proto::FINISHED;
  result.error = job_.state() == proto::CANCELLED ? "it was cancelled" : job_.error();
  result.seconds = seconds_;
  result.batches_done = job_.batches_done();
  result.total_batches = job_.total_batches();
  result.duplicates_refused = job_.duplicates_refused();
  result.rollbacks = job_.rollbacks();
  const absl::Status read = result.finished ? ReadResult(&result, values) : absl::OkStatus();
  if (!read.ok()) {
    result.finished = false;
    result.error = absl::StrCat("it cannot be read: ", std::string(read.message()));
  }
  lock_ = nullptr;
  return result;
}

absl::Status DrillTraining::ReadResult(TrainingResult* result, TrainedValues* values) const {
  CAIRN_ASSIGN_OR_RETURN(const auto source, StateSource::Open(options_.state));
  CAIRN_ASSIGN_OR_RETURN(const TrainedModel model, ReadTrainedModel(source.get(), job_id_, {}));
  for (const auto& variable : model.plan.partition().variables()) {
    values->names.push_back(variable.name());
  }
  values->values = model.variables;
  CAIRN_ASSIGN_OR_RETURN(const auto checkpoints, source->ListCheckpoints(job_id_));
  if (!checkpoints.manifests().empty()) {
    result->applied_batches = checkpoints.manifests().rbegin()->applied_batches();
  }
  // The history has the newest batches, in order. A gap is no error: the ledger has the batch, but
  // the report of its loss was lost with a worker.
  int64_t next = -1;
  CAIRN_RETURN_IF_ERROR(source->ReadHistory(job_id_, [&](const proto::HistoryChunk& chunk) {
    for (const proto::BatchRecord& record : chunk.batches()) {
      if (next < 0) values->first_batch = next = record.batch();
      result->lost_reports += record.batch() - next;
      values->losses.resize(record.batch() - values->first_batch, std::nan(""));
      values->losses.push_back(record.loss());
      next = record.batch() + 1;
    }
  }));
  result->lost_reports += result->total_batches - std::max<int64_t>(next, 0);
  return absl::OkStatus();
}

}  // namespace cairn::cli
