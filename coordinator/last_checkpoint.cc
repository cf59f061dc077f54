#include "coordinator/last_checkpoint.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {
namespace {

// What the loop and the end of the process may take beyond the time for the checkpoint.
constexpr absl::Duration kMargin = absl::Seconds(2);

bool AnyRuns(const proto::ListJobsReply& jobs) {
  return std::any_of(jobs.jobs().begin(), jobs.jobs().end(),
                     [](const proto::JobStatus& job) { return job.state() == proto::RUNNING; });
}

// FailedPrecondition: somebody without whom no checkpoint comes is away.
absl::Status CheckAllAreThere(const proto::ClusterStatus& cluster) {
  bool has_worker = false;
  for (const proto::Member& member : cluster.members()) {
    const TaskId task = {member.role(), member.index()};
    if (member.role() == proto::PS && !member.live()) {
      return absl::FailedPreconditionError(absl::StrCat(task.Name(), " is away"));
    }
    has_worker |= member.role() == proto::WORKER && member.live();
  }
  return has_worker ? absl::OkStatus() : absl::FailedPreconditionError("every worker is away");
}

void AnnounceEnd(const proto::ClusterStatus& cluster, absl::Duration within, Outbox* outbox) {
  proto::Command command;
  command.mutable_ending()->set_milliseconds(absl::ToInt64Milliseconds(within));
  for (const proto::Member& member : cluster.members()) {
    if (member.live()) outbox->Send({member.role(), member.index()}, command);
  }
}

std::string Line(const proto::PrepareStopReply& reply) {
  const proto::Manifest& manifest = reply.manifest();
  if (manifest.checkpoint() == 0) return "";
  return absl::StrCat("checkpoint ", manifest.checkpoint(), " of job ", manifest.job_id(),
                      " holds ", manifest.applied_batches(), " batches");
}

}  // namespace

void TakeLastCheckpoint(absl::Duration timeout,
                        std::function<void(absl::StatusOr<std::string>)> done, Scheduler* scheduler,
                        EventTime now, Outbox* outbox) {
  if (!AnyRuns(scheduler->ListJobs(now))) return done("");
  const proto::ClusterStatus cluster = scheduler->GetCluster(now);
  if (const absl::Status all = CheckAllAreThere(cluster); !all.ok()) return done(all);
  AnnounceEnd(cluster, timeout + kMargin, outbox);
  scheduler->PrepareStop(
      timeout,
      [done = std::move(done)](const absl::StatusOr<proto::PrepareStopReply>& reply) {
        if (!reply.ok()) return done(reply.status());
        done(Line(*reply));
      },
      now, outbox);
}

bool LastCheckpoint::IsNeeded(absl::Duration waited) {
  if (timeout_ <= absl::ZeroDuration()) return false;
  if (!std::exchange(has_begun_, true)) Begin();
  return !*is_over_ && waited < timeout_ + kMargin;
}

void LastCheckpoint::Begin() {
  const auto done = [is_over = is_over_](const absl::StatusOr<std::string>& line) {
    if (!line.ok()) {
      CAIRN_LOG_WARNING("no last checkpoint", "why", line.status());
    } else if (!line->empty()) {
      CAIRN_LOG_INFO("last checkpoint", "what", *line);
    }
    *is_over = true;
  };
  CAIRN_LOG_INFO("taking a last checkpoint if a job trains; told once more to end, ends at once",
                 "for_at_most", timeout_);
  const bool posted =
      loop_->Post([timeout = timeout_, done](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        TakeLastCheckpoint(timeout, done, scheduler, now, outbox);
      });
  if (!posted) done(absl::ResourceExhaustedError("the coordinator is overloaded"));
}

}  // namespace cairn::coordinator
