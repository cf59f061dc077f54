#include "worker/coordinator_process.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace cairn::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll(50);
constexpr std::chrono::milliseconds kPauseMin(200);
constexpr std::chrono::milliseconds kPauseMax(5000);
// A coordinator that has run this long is started again without a long pause.
constexpr std::chrono::seconds kLongRun(30);

}  // namespace

CoordinatorProcess::CoordinatorProcess(cluster::ChildOptions options,
                                       std::function<void(const std::string&)> failed)
    : options_(std::move(options)), failed_(std::move(failed)), thread_([this] { Run(); }) {}

CoordinatorProcess::~CoordinatorProcess() {
  Stop();
  Wait(absl::ZeroDuration());
  thread_.join();
}

void CoordinatorProcess::Stop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

void CoordinatorProcess::Wait(absl::Duration limit) {
  MutexLock lock(&mutex_);
  const auto until = Clock::now() + absl::ToChronoMilliseconds(limit);
  while (!ended_) {
    if (!killing_ && Clock::now() >= until) {
      killing_ = true;
      changed_.NotifyAll();
    }
    changed_.WaitFor(&mutex_, kPoll);
  }
}

void CoordinatorProcess::Run() {
  auto pause = kPauseMin;
  while (true) {
    const auto started = Clock::now();
    const int code = RunOnce();
    if (Clock::now() - started > kLongRun) pause = kPauseMin;
    MutexLock lock(&mutex_);
    if (!stopping_ && code > 0 && code < 128) {
      ended_ = true;
      return failed_(
          absl::StrCat("the coordinator, which this worker started because TF_CONFIG has "
                       "no chief, ended with exit code ",
                       code, ": see its last message"));
    }
    const auto until = Clock::now() + pause;
    if (!stopping_) {
      CAIRN_LOG_WARNING("the coordinator ended, starting it again", "exit_code", code, "pause_ms",
                        pause.count());
    }
    while (!stopping_ && Clock::now() < until) changed_.WaitFor(&mutex_, kPoll);
    if (stopping_) {
      ended_ = true;
      changed_.NotifyAll();
      return;
    }
    pause = std::min(2 * pause, kPauseMax);
  }
}

int CoordinatorProcess::RunOnce() {
  const auto child = cluster::ChildProcess::Start(options_);
  if (!child.ok()) {
    // Not for lack of a program, which was found before: of memory or processes. Later, then.
    CAIRN_LOG_WARNING("the coordinator did not start", "error", child.status().ToString());
    return 128;
  }
  bool stopped = false, killed = false;
  while (true) {
    if (const auto code = (*child)->TryWait()) return *code;
    MutexLock lock(&mutex_);
    if (stopping_ && !std::exchange(stopped, true)) (*child)->Signal(SIGTERM);
    if (killing_ && !std::exchange(killed, true)) (*child)->Signal(SIGKILL);
    changed_.WaitFor(&mutex_, kPoll);
  }
}

}  // namespace cairn::worker
