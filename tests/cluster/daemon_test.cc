#include "cluster/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace cairn::cluster {
namespace {

// Runs `body` in a child process. Returns its exit code, or 1000 + the signal that killed it.
int ExitCodeOf(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

DaemonOptions Options() {
  DaemonOptions options;
  options.program = "tester";
  return options;
}

TEST(DaemonTest, WarnsOfAPortThatIsNotOnLoopback) {
  ::testing::internal::CaptureStderr();
  WarnOfOpenPort({"127.0.0.1", 4000});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  WarnOfOpenPort({"10.0.0.1", 4000});
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find(" warning "), std::string::npos) << log;
  EXPECT_NE(log.find("Cairn does not authenticate"), std::string::npos) << log;
  EXPECT_NE(log.find("10.0.0.1:4000"), std::string::npos) << log;
}

TEST(DaemonTest, SigtermEndsWith143AfterStopping) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              kill(getpid(), SIGTERM);
              bool stopped = false;
              const int code = (*daemon)->Run([&] { stopped = true; });
              return stopped ? code : 99;
            }),
            143);
}

TEST(DaemonTest, SigintEndsWith130) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              std::thread killer([] { kill(getpid(), SIGINT); });
              const int code = (*daemon)->Run([] {});
              killer.join();
              return code;
            }),
            130);
}

TEST(DaemonTest, AfterASignalItGoesOnWhileItIsNeeded) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              kill(getpid(), SIGTERM);
              int asked = 0;
              int asked_before_stop = 0;
              const int code = (*daemon)->Run([&] { asked_before_stop = asked; },
                                              [&](absl::Duration) { return ++asked < 3; });
              return asked_before_stop == 3 ? code : 99;
            }),
            143);
}

TEST(DaemonTest, ASecondSignalEndsItThoughItIsNeeded) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              kill(getpid(), SIGTERM);
              return (*daemon)->Run([] {},
                                    [](absl::Duration) {
                                      kill(getpid(), SIGINT);
                                      return true;
                                    });
            }),
            143);
}

TEST(DaemonTest, ExitEndsItThoughItIsNeededAndDoesNotAskFirst) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              kill(getpid(), SIGTERM);
              return (*daemon)->Run([] {},
                                    [&](absl::Duration) {
                                      (*daemon)->Exit(kExitRestart, "the disk is full");
                                      return true;
                                    });
            }),
            143);
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              (*daemon)->Exit(kExitRestart, "the disk is full");
              bool asked = false;
              const int code = (*daemon)->Run([] {}, [&](absl::Duration) { return asked = true; });
              return asked ? 99 : code;
            }),
            129);
}

TEST(DaemonTest, TheFirstExitOfAnyThreadCounts) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              std::thread refused([&] {
                (*daemon)->Exit(kExitPermanent, "refused");
                (*daemon)->Exit(kExitRestart, "too late");
              });
              const int code = (*daemon)->Run([] {});
              refused.join();
              return code;
            }),
            1);
}

TEST(DaemonTest, AHangingStopEndsAfterItsTimeout) {
  EXPECT_EQ(ExitCodeOf([] {
              DaemonOptions options = Options();
              options.stop_timeout = absl::Milliseconds(50);
              auto daemon = Daemon::Start(options);
              kill(getpid(), SIGTERM);
              return (*daemon)->Run([] { pause(); });
            }),
            143);
}

TEST(DaemonTest, WritingToAClosedPipeDoesNotKill) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              int ends[2];
              if (pipe(ends) != 0) return 98;
              close(ends[0]);
              return write(ends[1], "x", 1) == -1 ? 7 : 99;
            }),
            7);
}

TEST(DaemonTest, WritingBeyondTheFileSizeLimitDoesNotKill) {
  EXPECT_EQ(ExitCodeOf([] {
              auto daemon = Daemon::Start(Options());
              const rlimit none = {0, 0};
              if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 98;
              const int file = open(::testing::TempDir().c_str(), O_TMPFILE | O_WRONLY, 0600);
              return write(file, "x", 1) == -1 && errno == EFBIG ? 7 : 99;
            }),
            7);
}

TEST(DaemonTest, TheDescriptorLimitIsRaisedToTheHardLimit) {
  EXPECT_EQ(ExitCodeOf([] {
              const rlimit shell = {300, 3000};
              if (setrlimit(RLIMIT_NOFILE, &shell) != 0) return 98;
              auto daemon = Daemon::Start(Options());
              rlimit now = {};
              return getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 3000 ? 7 : 99;
            }),
            7);
}

TEST(DaemonTest, UnknownLogLevelIsRefused) {
  EXPECT_EQ(ExitCodeOf([] {
              DaemonOptions options = Options();
              options.log_level = "loud";
              return absl::IsInvalidArgument(Daemon::Start(options).status()) ? 7 : 99;
            }),
            7);
}

TEST(DaemonTest, TransientFailuresAskForARestart) {
  EXPECT_EQ(ReportFailure("tester", absl::InvalidArgumentError("bad")), kExitPermanent);
  EXPECT_EQ(ReportFailure("tester", absl::AlreadyExistsError("port")), kExitRestart);
  EXPECT_EQ(ReportFailure("tester", absl::UnavailableError("disk")), kExitRestart);
  EXPECT_EQ(ReportFailure("tester", absl::InternalError("disk")), kExitRestart);
}

// As a pipe whose reader has stopped. A child that waits for it dies of SIGALRM.
[[maybe_unused]] void LogToAFullPipe() {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const std::string bytes(4096, 'x');
  while (write(ends[1], bytes.data(), bytes.size()) > 0) {
  }
  while (write(ends[1], "x", 1) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], STDERR_FILENO);
  alarm(60);
}

#if !defined(CAIRN_THREAD_SANITIZER)  // It flushes standard error in _exit, and so hangs there.
TEST(DaemonTest, ALogThatHangsDoesNotKeepTheProcess) {
  EXPECT_EQ(ExitCodeOf([]() -> int {
              LogToAFullPipe();
              {
                auto daemon = Daemon::Start(Options());
                (*daemon)->Exit(kExitRestart, "the disk is full");
                (*daemon)->Run([] {});
              }
              exit(99);
            }),
            129);
}

TEST(DaemonTest, ALogThatHangsDoesNotKeepAProcessThatCannotStart) {
  EXPECT_EQ(ExitCodeOf([]() -> int {
              LogToAFullPipe();
              auto daemon = Daemon::Start(Options());
              ReportFailure("tester", absl::InternalError("disk"));
              exit(99);
            }),
            129);
}
#endif

// A log file that cannot be opened is said by the process, which waits for it.
TEST(DaemonTest, ALogFileWhoseDiskHangsIsSaid) {
  const std::string log = ::testing::TempDir() + "/daemon_test_pipe";
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  ::testing::internal::CaptureStderr();
  const int code = ExitCodeOf([&log]() -> int {
    alarm(15);
    DaemonOptions options = Options();
    options.log_file = log;
    auto daemon = Daemon::Start(options);
    return 99;
  });
  EXPECT_EQ(code, 1000 + SIGALRM);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("still starting"), std::string::npos);
  unlink(log.c_str());
}

constexpr char kConfig[] = R"({"cluster": {"chief": ["h:1"], "ps": ["h:2"], "worker": ["h:3"]}})";

TEST(LoadTfConfigTest, TheFilePrecedesTheEnvironment) {
  const std::string path = ::testing::TempDir() + "/tf_config.json";
  std::ofstream(path) << kConfig;
  EXPECT_EQ(LoadTfConfig(path, "nonsense")->chief.ToString(), "h:1");
  EXPECT_EQ(LoadTfConfig("", kConfig)->chief.ToString(), "h:1");
}

TEST(LoadTfConfigTest, MissingAndInvalidConfigurationsAreNamed) {
  EXPECT_TRUE(absl::IsNotFound(LoadTfConfig("", "").status()));
  EXPECT_EQ(LoadTfConfig("/nowhere/tf.json", "").status(),
            absl::InvalidArgumentError(
                "cannot read /nowhere/tf.json, the file that should hold TF_CONFIG: "
                "No such file or directory"));
  const std::string path = ::testing::TempDir() + "/bad.json";
  std::ofstream(path) << "[]";
  EXPECT_EQ(LoadTfConfig(path, kConfig).status(),
            absl::InvalidArgumentError(path + ": TF_CONFIG is []; it must be a JSON object with "
                                              "\"cluster\" and \"task\""));
}

TEST(LoadTfConfigTest, ADirectoryAndAnEmptyFileHaveDifferentMessages) {
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(LoadTfConfig(folder, "").status(),
            absl::InvalidArgumentError("cannot read " + folder +
                                       ", the file that should hold TF_CONFIG: Is a directory"));
  const std::string path = folder + "/empty.json";
  std::ofstream(path) << "";
  EXPECT_EQ(LoadTfConfig(path, "").status(),
            absl::InvalidArgumentError(path + ": TF_CONFIG is empty; it must be a JSON object with "
                                              "\"cluster\" and \"task\""));
}

TEST(WrongTaskTest, NamesTheTaskOrSaysThatThereIsNone) {
  TfConfig config;
  EXPECT_EQ(WrongTask(config, "this needs one"),
            absl::InvalidArgumentError("TF_CONFIG has no task; this needs one"));
  config.task = OwnTask{proto::WORKER, 3};
  EXPECT_EQ(WrongTask(config, "this is a ps"),
            absl::InvalidArgumentError("TF_CONFIG's task is worker 3; this is a ps"));
}

}  // namespace
}  // namespace cairn::cluster
