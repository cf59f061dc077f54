#ifndef CAIRN_TESTS_END_TO_END_PROCESS_H_
#define CAIRN_TESTS_END_TO_END_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cairn::testing {

// Every deadline of these tests times this: under a sanitizer all takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(CAIRN_THREAD_SANITIZER) || \
    defined(CAIRN_UNDEFINED_SANITIZER)
inline constexpr int kPatience = 10;
#else
inline constexpr int kPatience = 1;
#endif

// A real child process. It dies with the test, whatever happens: by the destructor's SIGKILL, or,
// if the test itself is killed, by the parent-death signal.
class Process {
 public:
  struct Options {
    std::vector<std::string> arguments;              // arguments[0] is the program.
    std::map<std::string, std::string> environment;  // Added to the test's own.
    std::string input_file;                          // stdin; empty: the test's own.
    std::string output_file;                         // stdout and stderr, appended.
    std::string error_file;                          // stderr, if it is to be kept apart.
    std::string folder;                              // Where it runs; empty: where the test does.
  };

  Process() = default;
  explicit Process(const Options& options);
  ~Process() { Kill(); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  bool running();

  // Sends a signal if it still runs.
  void Signal(int signal);
  // SIGKILL, and waits for the end.
  void Kill();
  // The exit code (128 + signal for a killed process), or nothing when `timeout` (times kPatience)
  // passed first.
  std::optional<int> Wait(std::chrono::milliseconds timeout);

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// The whole file, or "" if there is none.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

// Calls `condition` every 20 ms until it is true; false when `timeout` (times kPatience) passed
// first.
template <typename Condition>
bool WaitUntil(std::chrono::milliseconds timeout, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + timeout * kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_PROCESS_H_
