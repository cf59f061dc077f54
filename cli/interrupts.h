#ifndef CAIRN_CLI_INTERRUPTS_H_
#define CAIRN_CLI_INTERRUPTS_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace cairn::cli {

// Takes SIGINT, SIGTERM and SIGHUP: the first calls `on_first`, on a thread of its own; the second
// ends the process at once (and local daemons with it). Make it before any other thread, since
// signals are blocked for threads that are made later. One per process.
class Interrupts {
 public:
  // `last_words` go to standard error at the second one.
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
