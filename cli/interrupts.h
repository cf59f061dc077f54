#ifndef CAIRN_CLI_INTERRUPTS_H_
#define CAIRN_CLI_INTERRUPTS_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace cairn::cli {

// Handles SIGINT, SIGTERM and SIGHUP. The first signal calls `on_first` on a thread of this class.
// The second one ends the process at once; the kernel then kills the local daemons.
// Create it before any other thread: it blocks the signals in the calling thread and in all threads
// created later, and a signal would kill the process through a thread that does not block it. One
// per process.
class Interrupts {
 public:
  // `last_words` is written to standard error when the second signal arrives.
  explicit Interrupts(std::function<void()> on_first, std::string last_words = "");
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // The first signal's exit code (128 + its number), or 0 if there was none.
  int exit_code() const { return exit_code_; }

 private:
  void Run();

  const std::function<void()> on_first_;
  const std::string last_words_;
  std::atomic<int> exit_code_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_INTERRUPTS_H_
