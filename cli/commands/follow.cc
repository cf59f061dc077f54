#include "cli/commands/follow.h"

#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "cli/view/loss_warning.h"
#include "common/clock.h"
#include "common/plural.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr absl::Duration kRetryInterval = absl::Milliseconds(200);
// Long enough for a supervisor to restart the coordinator.
constexpr absl::Duration kAwayMax = absl::Minutes(1);
// Shorter absences are not reported: a restarted coordinator is back by then.
constexpr absl::Duration kUnreportedAbsence = absl::Seconds(3);

// True for errors that a retry cannot fix.
bool IsFinal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

// Prints the summary of a job that has finished.
void PrintSummary(const std::string& name, const proto::JobStatus& job, std::ostream* out) {
  *out << name << " finished: " << Plural(job.epochs(), "epoch") << ", "
       << (job.total_batches() == 1 ? "1 batch" : absl::StrCat(job.total_batches(), " batches"));
  const int64_t seconds = job.ended_unix_seconds() - job.submitted_unix_seconds();
  if (job.ended_unix_seconds() > 0) *out << ", " << DurationText(static_cast<double>(seconds));
  *out << "\n";
  if (!job.evaluations().empty()) {
    const auto& evaluation = *job.evaluations().rbegin();
    *out << "  validation  " << EvaluationText(evaluation, job.metric_names()) << "  ("
         << Plural(evaluation.examples(), "example") << ")\n";
  }
  for (const auto& best : job.best()) {
    if (!best.is_result()) continue;
    *out << "  result      checkpoint " << best.checkpoint() << ", the best: " << best.monitor()
         << " " << absl::StrFormat("%.4f", best.value()) << " after epoch " << best.epoch() + 1
         << "\n";
  }
}

}  // namespace

ProgressOptions ProgressFor(const CommandContext& context, bool json) {
  ProgressOptions options;
  options.style = json                  ? ProgressOptions::Style::kJson
                  : context.is_terminal ? ProgressOptions::Style::kLive
                                        : ProgressOptions::Style::kPlain;
  options.color = context.color;
  options.width = context.terminal_width;
  return options;
}

absl::StatusOr<proto::JobStatus> FollowToEnd(
    CoordinatorApi* api, const std::string& job, Progress* progress,
    absl::FunctionRef<absl::Status(absl::Duration)> may_retry) {
  const RealClock clock;
  absl::Duration last_heard = clock.Now();  // When the stream was last open.
  bool is_reported = false;
  proto::JobStatus last;
  while (true) {
    bool was_heard = false;
    const absl::Status status = api->Follow(job, [&](const proto::JobStatus& now) {
      last = now;
      was_heard = true;
      progress->Update(now, clock.Now());
    });
    // The stream was open until now, even if the last status is older.
    if (was_heard) {
      last_heard = clock.Now();
      is_reported = false;
    }
    if (HasEnded(last.state())) return last;
    if (IsFinal(status)) return status;
    const absl::Duration away = clock.Now() - last_heard;
    CAIRN_RETURN_IF_ERROR(may_retry(away));
    if (away > kUnreportedAbsence && !std::exchange(is_reported, true)) {
      progress->Note("the coordinator does not respond; trying again");
    }
    std::this_thread::sleep_for(absl::ToChronoMilliseconds(kRetryInterval));
  }
}

void DetachOnInterrupt::Watch(CoordinatorApi* api, const std::string& again) {
  MutexLock lock(&mutex_);
  api_ = api;
  again_ = again;
}

std::string DetachOnInterrupt::again() const {
  MutexLock lock(&mutex_);
  return again_;
}

void DetachOnInterrupt::OnFirst() {
  MutexLock lock(&mutex_);
  if (api_ == nullptr) _exit(interrupts_.exit_code());
  // Print first: cancelling the calls may take a moment, and a second Ctrl-C prints nothing.
  *context_.err
      << (context_.is_terminal ? "\n" : "")
      << "cairn: detached; the job continues while its cluster runs. To follow it again: " +
             again_ + "\n"
      << std::flush;
  api_->CancelFollow();
}

absl::StatusOr<int> FollowAndReport(CoordinatorApi* api, const std::string& job, bool json,
                                    const DetachOnInterrupt& interrupts,
                                    const CommandContext& context) {
  absl::StatusOr<proto::JobStatus> last;
  {
    Progress progress(ProgressFor(context, json), context.out);
    last = FollowToEnd(api, job, &progress, [&](absl::Duration away) -> absl::Status {
      if (interrupts.exit_code() != 0) return absl::CancelledError("detached");
      if (away < kAwayMax) return absl::OkStatus();
      return absl::UnavailableError(absl::StrCat(
          "the coordinator at ", api->address(),
          " has not responded for a minute; see its log, then continue with ", interrupts.again()));
    });
  }
  if (interrupts.exit_code() != 0) return interrupts.exit_code();
  if (!last.ok()) return last.status();
  return ReportEnd(*last, json, context);
}

int ReportEnd(const proto::JobStatus& job, bool json, const CommandContext& context) {
  const std::string name = absl::StrCat("job ", job.job_id(), " (", job.name(), ")");
  if (storage::WasRefused(job)) {
    *context.err << "cairn: " << name << " was rejected: " << job.error() << "\n";
    return kExitBadInput;
  }
  if (job.state() != proto::FINISHED) {
    *context.err << "cairn: " << name << " "
                 << (job.state() == proto::FAILED ? "failed: " + job.error() : "was cancelled")
                 << "\n";
    return kExitJobFailed;
  }
  if (!json) PrintSummary(name, job, context.out);  // In JSON the last status has it.
  const std::string warning = LossWarning(job);
  if (warning.empty()) return kExitDone;
  context.out->flush();  // The warning stays the last line if both streams go to the same file.
  *context.err << "cairn: " << name << " finished, but " << warning << "\n";
  return kExitJobFailed;
}

}  // namespace cairn::cli
