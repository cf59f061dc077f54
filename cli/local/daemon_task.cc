#include "cli/local/daemon_task.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/local/log_files.h"
#include "cli/local/state_lock.h"
#include "common/file_operation.h"

namespace cairn::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstDelay(100);
constexpr milliseconds kMaxDelay(5000);
// A daemon that ran for this long is restarted after the shortest delay.
constexpr seconds kSteadyRun(10);
constexpr int kFirstRestartableCode = 128;
// The exit code of a daemon that has logged an error which a restart may fix.
constexpr int kRestartCode = 129;
// Of the log of a daemon that cannot run.
constexpr size_t kLastLines = 8;

std::string LastLines(const std::string& file, size_t count) {
  const auto lines = FileOperation::Get<std::vector<std::string>>(
      file, [file, count] { return LogTail(file).LastLines(count); }, kStateMayTakeBriefly);
  return lines.ok() ? absl::StrJoin(*lines, "\n  ") : std::string(lines.status().message());
}

// A disk may fail for a moment, and memory or processes may be short.
bool MayPass(const absl::Status& started) {
  switch (started.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnknown:
      return true;
    default:
      return false;
  }
}

std::string InWords(int exit_code, const std::string& log) {
  if (exit_code == kRestartCode) {
    return absl::StrCat("exit code ", exit_code, ", see ", log, ": ", LastLines(log, 1));
  }
  return exit_code > kFirstRestartableCode && exit_code < kFirstRestartableCode + 32
             ? absl::StrCat("killed by signal ", exit_code - kFirstRestartableCode)
             : absl::StrCat("exit code ", exit_code);
}

}  // namespace

DaemonTask::DaemonTask(std::string name, cluster::ChildOptions options)
    : name_(std::move(name)), options_(std::move(options)) {}

absl::Status DaemonTask::Start() {
  auto child = cluster::ChildProcess::Start(options_);
  if (!child.ok()) return child.status();
  child_ = *std::move(child);
  started_at_ = std::chrono::steady_clock::now();
  return absl::OkStatus();
}

DaemonTask::Event DaemonTask::Watch(Time now) {
  if (!is_wanted_) return {};
  if (child_ != nullptr) {
    const auto exit_code = child_->TryWait();
    return exit_code ? OnEnd(*exit_code, now) : Event{};
  }
  if (now < start_due_) return {};
  Event event;
  const absl::Status started = Start();
  if (MayPass(started)) {
    event.note = absl::StrCat(name_, " cannot be started again yet: ", started.message());
    start_due_ = now + kMaxDelay;
    return event;
  }
  event.failure = started;
  event.started_again = started.ok();
  is_wanted_ = started.ok();
  return event;
}

DaemonTask::Event DaemonTask::OnEnd(int exit_code, Time now) {
  child_ = nullptr;
  Event event;
  if (exit_code > 0 && exit_code < kFirstRestartableCode) {
    is_wanted_ = false;
    event.failure = absl::FailedPreconditionError(
        absl::StrCat(name_, " cannot run (exit code ", exit_code, "); the end of its log, ",
                     options_.output_file, ":\n  ", LastLines(options_.output_file, kLastLines)));
    return event;
  }
  // The delay doubles with each end that follows soon after a start.
  quick_ends_ = now - started_at_ < kSteadyRun ? quick_ends_ + 1 : 0;
  const milliseconds delay =
      std::min(kMaxDelay, kFirstDelay * (1 << std::min(std::max(quick_ends_ - 1, 0), 6)));
  start_due_ = now + delay;
  event.note =
      absl::StrCat(name_, " died (", InWords(exit_code, options_.output_file), "); restarting it");
  return event;
}

void DaemonTask::Signal(int signal) {
  is_wanted_ = false;
  if (child_ != nullptr) child_->Signal(signal);
}

bool DaemonTask::IsRunning() { return child_ != nullptr && !child_->TryWait(); }

}  // namespace cairn::cli
