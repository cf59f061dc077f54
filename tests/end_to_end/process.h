#ifndef CAIRN_TESTS_END_TO_END_PROCESS_H_
#define CAIRN_TESTS_END_TO_END_PROCESS_H_

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cairn::testing {

// Every deadline of these tests is multiplied by this: sanitizers slow programs down several times.
#if defined(__SANITIZE_ADDRESS__) || defined(CAIRN_THREAD_SANITIZER) || \
    defined(CAIRN_UNDEFINED_SANITIZER)
inline constexpr int kPatience = 10;
#else
inline constexpr int kPatience = 1;
#endif

// A child process. It never outlives the test: the destructor sends SIGKILL, and if the test itself
// is killed, the parent-death signal ends the child.
class Process {
 public:
  struct Options {
    std::vector<std::string> arguments;              // arguments[0] is the program.
    std::map<std::string, std::string> environment;  // Added to the test's own.
    std::string input_file;                          // stdin; empty: the test's own.
    std::string output_file;                         // stdout and stderr, appended.
    std::string error_file;                          // stderr, if it is to be separate.
    std::string folder;                              // The working directory; empty: the test's.
  };

  Process() = default;
  explicit Process(const Options& options);
  ~Process() { Kill(); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  bool running();

  // Sends a signal if the process is running.
  void Signal(int signal);
  // Sends SIGKILL and waits for the end.
  void Kill();
  // The exit code (128 + signal for a killed process), or nothing after `timeout` (times
  // kPatience).
  std::optional<int> Wait(std::chrono::milliseconds timeout);

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// The contents of the file, or "" if it does not exist.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

// Calls `condition` until it returns true. Returns false after `timeout` (times kPatience). Most
// conditions start a program, which would take the processor from what is waited for, so the pauses
// grow: a tenth of the time waited so far, from 20 to 250 ms.
template <typename Condition>
bool WaitUntil(std::chrono::milliseconds timeout, Condition condition) {
  using std::chrono::milliseconds;
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    const auto waited =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
    if (waited > timeout * kPatience) return false;
    std::this_thread::sleep_for(std::clamp(waited / 10, milliseconds(20), milliseconds(250)));
  }
  return true;
}

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_PROCESS_H_
