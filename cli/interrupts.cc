#include "cli/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "common/log_control.h"

namespace cairn::cli {
namespace {

// SIGHUP stays ignored if it was ignored at the start (nohup). SIGINT does not: shells ignore it in
// the background jobs of a script, so a SIGINT that arrives there was sent on purpose.
sigset_t TakenSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

Interrupts::Interrupts(std::function<void()> on_first, std::string last_words)
    : on_first_(std::move(on_first)), last_words_(std::move(last_words)) {
  const sigset_t signals = TakenSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { Run(); });
}

Interrupts::~Interrupts() {
  is_over_ = true;
  // Wakes the thread, which sees that `is_over_` is set.
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void Interrupts::Run() {
  const sigset_t signals = TakenSignals();
  while (true) {
    const int signal = sigwaitinfo(&signals, nullptr);
    if (is_over_) return;
    if (signal < 0) continue;
    if (exit_code_ != 0) {
      WriteToStandardError(last_words_);
      _exit(128 + signal);
    }
    exit_code_ = 128 + signal;
    on_first_();
  }
}

}  // namespace cairn::cli
