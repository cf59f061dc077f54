#include "cluster/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file_operation.h"
#include "common/status_macros.h"

namespace cairn::cluster {
namespace {

constexpr absl::Duration kOpenMayTake = absl::Seconds(3);
constexpr std::chrono::seconds kKillMayTake(5);

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

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  const int number_;
};

// Its disk may hang.
absl::StatusOr<std::shared_ptr<const Descriptor>> OpenOutput(const std::string& file) {
  using Result = absl::StatusOr<std::shared_ptr<const Descriptor>>;
  return FileOperation::Get<std::shared_ptr<const Descriptor>>(
      file,
      [file]() -> Result {
        const int number = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (number < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", file));
        return std::make_shared<const Descriptor>(number);
      },
      kOpenMayTake);
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
  std::shared_ptr<const Descriptor> file;
  if (!options.output_file.empty()) {
    CAIRN_ASSIGN_OR_RETURN(file, OpenOutput(options.output_file));
  }
  const int output = file == nullptr ? -1 : file->number();
  int exec_error[2];
  if (pipe2(exec_error, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
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
  const auto end = std::chrono::steady_clock::now() + kKillMayTake;
  while (!TryWait() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
