#include "cluster/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace cairn::cluster {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child between fork and exec. Makes only system calls, because another thread of the
// parent may have held any lock at the fork. Returns if exec failed.
void BecomeProgram(const ChildOptions& options, pid_t parent, int output, char* const* arguments,
                   char* const* environment) {
  ResetSignals();
  if (options.is_detached) {
    setsid();
  } else {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // The parent died before prctl.
  }
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  execve(arguments[0], arguments, environment);
}

// The errno of a failed exec, or 0 if exec closed the pipe without writing.
int ReadExecError(int pipe) {
  int error = 0;
  ssize_t got;
  do {
    got = read(pipe, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(error) ? error : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ChildOptions& options) {
  const int output =
      options.output_file.empty()
          ? -1
          : open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0 && !options.output_file.empty()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", options.output_file));
  }
  int exec_error[2];
  if (pipe2(exec_error, O_CLOEXEC) != 0) {
    const int error = errno;
    if (output >= 0) close(output);
    return absl::ErrnoToStatus(error, "cannot make a pipe");
  }
  const std::vector<char*> arguments = Pointers(options.command);
  const std::vector<char*> environment = Pointers(options.environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    BecomeProgram(options, parent, output, arguments.data(), environment.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(exec_error[1], &error, sizeof(error));
    _exit(127);
  }
  int error = errno;
  if (output >= 0) close(output);
  close(exec_error[1]);
  if (pid > 0) error = ReadExecError(exec_error[0]);
  close(exec_error[0]);
  if (error != 0 || pid < 0) {
    if (pid > 0) waitpid(pid, nullptr, 0);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", options.command[0]));
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, options.is_detached));
}

ChildProcess::~ChildProcess() {
  if (TryWait() || is_detached_) return;
  Signal(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::Signal(int signal) const {
  // The kernel does not reuse the id before waitpid.
  if (!exit_code_) kill(pid_, signal);
}

std::optional<int> ChildProcess::TryWait() {
  if (exit_code_) return exit_code_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  if (WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) exit_code_ = 128 + WTERMSIG(status);
  return exit_code_;
}

}  // namespace cairn::cluster
