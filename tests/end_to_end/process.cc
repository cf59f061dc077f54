#include "tests/end_to_end/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/end_to_end/sanitizer_reports.h"

namespace cairn::testing {
namespace {

[[maybe_unused]] const bool watching = WatchSanitizerReports();

void RedirectTo(const std::string& path, int descriptor) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0644);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
  close(file);
}

[[noreturn]] void BecomeProgram(const Process::Options& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!options.input_file.empty()) {
    const int file = open(options.input_file.c_str(), O_RDONLY | O_NOCTTY);
    if (file < 0 || dup2(file, STDIN_FILENO) < 0) _exit(126);
    close(file);
  }
  if (!options.output_file.empty()) {
    RedirectTo(options.output_file, STDOUT_FILENO);
    RedirectTo(options.error_file.empty() ? options.output_file : options.error_file,
               STDERR_FILENO);
  }
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  std::fprintf(stderr, "cannot execute %s\n", arguments[0]);
  _exit(126);
}

}  // namespace

Process::Process(const Options& options) {
  pid_ = fork();
  if (pid_ == 0) BecomeProgram(options);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_code_(std::exchange(other.exit_code_, {})) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    exit_code_ = std::exchange(other.exit_code_, {});
  }
  return *this;
}

bool Process::running() { return pid_ > 0 && !Wait(std::chrono::milliseconds(0)).has_value(); }

void Process::Signal(int signal) {
  if (running()) kill(pid_, signal);
}

void Process::Kill() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  Wait(std::chrono::seconds(10));
}

std::optional<int> Process::Wait(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout * kPatience;
  while (pid_ > 0 && !exit_code_.has_value()) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (std::chrono::steady_clock::now() >= end) {
      break;
    } else {
      usleep(5000);
    }
  }
  return exit_code_;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace cairn::testing
