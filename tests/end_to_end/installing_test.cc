// deploy/install.sh with existing binaries: the installed tool finds its daemons, the units name
// the installed files, and uninstalling leaves nothing behind.

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/free_port.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class Installing : public ::testing::Test {
 protected:
  CommandResult Run(std::vector<std::string> command) {
    TemporaryFolder output;
    Process::Options options;
    options.arguments = std::move(command);
    options.environment = {{"HOME", folder_.path("home")}};
    options.output_file = output.path("out");
    options.error_file = output.path("err");
    Process process(options);
    CommandResult result;
    result.exit_code = process.Wait(std::chrono::seconds(120)).value_or(-1);
    result.output = ReadFile(options.output_file);
    result.errors = ReadFile(options.error_file);
    return result;
  }

  CommandResult Install(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"/bin/bash", ProgramPath("deploy/install.sh")});
    return Run(std::move(flags));
  }

  std::vector<std::string> InstalledFiles() {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(prefix_)) {
      if (!entry.is_directory()) files.push_back(entry.path().string());
    }
    return files;
  }

  TemporaryFolder folder_;
  const std::string prefix_ = folder_.path("prefix");
};

TEST_F(Installing, TheInstalledToolTrainsAndNothingStaysWhenItIsTakenAway) {
  const CommandResult installed = Install({"--prefix", prefix_, "--built", ProgramPath(".")});
  ASSERT_EQ(installed.exit_code, 0) << installed.output << installed.errors;

  const std::string cairn = prefix_ + "/bin/cairn";
  ASSERT_EQ(Run({cairn, "init", folder_.path("job")}).exit_code, 0);
  const CommandResult run =
      Run({cairn, "run", folder_.path("job/job.json"), "--state", folder_.path("state")});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;

  for (const char* page : {"cairn.1", "cairn-run.1", "cairn-evaluate.1"}) {
    EXPECT_THAT(ReadFile(prefix_ + "/share/man/man1/" + page), HasSubstr(".TH")) << page;
  }
  EXPECT_THAT(ReadFile(prefix_ + "/share/bash-completion/completions/cairn"),
              HasSubstr("evaluate"));

  EXPECT_THAT(ReadFile(prefix_ + "/share/doc/cairn/job_file.md"), HasSubstr("batch_size"));

  const CommandResult gone = Install({"--prefix", prefix_, "--uninstall"});
  EXPECT_EQ(gone.exit_code, 0) << gone.errors;
  EXPECT_THAT(InstalledFiles(), ::testing::IsEmpty());
}

// $1: the example's source, $2: the folder to build in, $3 and $4: ports.
constexpr char kBuildAndRun[] = R"(
set -e
g++ -std=c++20 -Wall -Werror $1 -o $2/data_parallel $(pkg-config --cflags --libs cairn-collectives)
export LD_LIBRARY_PATH=$(pkg-config --variable=prefix cairn-collectives)/lib
cluster='{"worker": ["127.0.0.1:'$3'", "127.0.0.1:'$4'"]}'
TF_CONFIG='{"cluster": '$cluster', "task": {"type": "worker", "index": 1}}' $2/data_parallel &
TF_CONFIG='{"cluster": '$cluster', "task": {"type": "worker", "index": 0}}' $2/data_parallel
wait $!
)";

TEST_F(Installing, AProgramOutsideOfTheProjectUsesTheLibraryOfCollectives) {
  if (Run({"/bin/sh", "-c", "pkg-config --version && g++ --version"}).exit_code != 0) {
    GTEST_SKIP() << "no pkg-config or g++";
  }
  ASSERT_EQ(Install({"--prefix", prefix_, "--built", ProgramPath(".")}).exit_code, 0);
  setenv("PKG_CONFIG_PATH", (prefix_ + "/lib/pkgconfig").c_str(), 1);
  const CommandResult run =
      Run({"/bin/bash", "-c", kBuildAndRun, "bash",
           ProgramPath("examples/collectives/data_parallel.cc"), folder_.path("."),
           std::to_string(FreePort()), std::to_string(FreePort())});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
  for (const char* rank : {"0", "1"}) {
    EXPECT_THAT(run.output,
                HasSubstr(std::string("rank ") + rank + " of 2: y = 2.000 a + -3.000 b + 0.500"))
        << run.errors;
  }
}

TEST_F(Installing, EveryUnitStartsAProgramThatWasInstalled) {
  ASSERT_EQ(Install({"--prefix", prefix_, "--built", ProgramPath(".")}).exit_code, 0);
  for (const auto& [unit, program] :
       {std::pair("coordinator", "coordinator"), std::pair("ps", "ps_server"),
        std::pair("worker", "worker")}) {
    const std::string text = ReadFile(prefix_ + "/lib/systemd/system/cairn-" + unit + ".service");
    const std::string path = prefix_ + "/lib/cairn/" + program;
    EXPECT_THAT(text, HasSubstr("ExecStart=" + path + " --tf_config /etc/cairn/"));
    EXPECT_THAT(text, Not(HasSubstr("@")));
    EXPECT_EQ(Run({path, "--version"}).exit_code, 0) << path;
  }
  // Units stop in the reverse order: ps and workers are there for the coordinator's last
  // checkpoint.
  EXPECT_THAT(ReadFile(prefix_ + "/lib/systemd/system/cairn-coordinator.service"),
              HasSubstr("\nAfter=network-online.target cairn-ps.service cairn-worker.service\n"));
}

// A root folder with the files of the C library, and nothing else but the bundle.
constexpr char kTrainInABundle[] = R"(
set -e
bundle=$1 root=$2
mkdir -p $root/tmp $root/var/tmp $root/proc $root/dev $root/lib64 $root/lib/x86_64-linux-gnu
cp -L /lib64/ld-linux-x86-64.so.2 $root/lib64
for name in c m mvec dl pthread rt resolv util nss_files; do
  cp -L /lib/x86_64-linux-gnu/lib$name.so.[0-9] $root/lib/x86_64-linux-gnu
done
tar -C $root -xJf $bundle
mount -t proc proc $root/proc
mount --bind /dev $root/dev
cairn=/$(cd $root && echo cairn-*/bin/cairn)
chroot $root $cairn init /job
chroot $root $cairn run /job/job.json --state /state
)";

TEST_F(Installing, ABundleTrainsOnASystemThatHasOnlyTheCLibrary) {
  const std::string bundle = folder_.path("cairn.tar.xz");
  setenv("XZ_OPT", "-0", 1);  // Packs in seconds.
  const CommandResult packed =
      Run({"/bin/bash", ProgramPath("deploy/bundle.sh"), "--built", ProgramPath("."), bundle});
  ASSERT_EQ(packed.exit_code, 0) << packed.output << packed.errors;
  // The mounts end with the namespace.
  if (Run({"/usr/bin/unshare", "--mount", "/bin/true"}).exit_code != 0) {
    GTEST_SKIP() << "mounting needs root";
  }
  const CommandResult run = Run({"/usr/bin/unshare", "--mount", "/bin/bash", "-c", kTrainInABundle,
                                 "bash", bundle, folder_.path("root")});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
  EXPECT_THAT(run.output, HasSubstr("finished")) << run.errors;
}

TEST_F(Installing, ABundleNeedsAFileName) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"cairn.zip"}, {"--buitl", "x", "cairn.tar.xz"}}) {
    std::vector<std::string> command = {"/bin/bash", ProgramPath("deploy/bundle.sh")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(Run(command).exit_code, 2);
  }
  const CommandResult barred = Run({"/bin/bash", ProgramPath("deploy/bundle.sh"), "--built",
                                    ProgramPath("."), "/nowhere/cairn.tar.xz"});
  EXPECT_EQ(barred.exit_code, 2);
  EXPECT_THAT(barred.errors, HasSubstr("/nowhere is not a folder that can be written"));
}

TEST_F(Installing, RejectsImpossibleOptionsBeforeWritingAnything) {
  const CommandResult empty = Install({"--prefix", prefix_, "--built", folder_.path(".")});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.errors, HasSubstr("cli/cairn is not there"));
  EXPECT_FALSE(fs::exists(prefix_));
  const CommandResult barred = Install({"--prefix", "/proc/cairn", "--built", ProgramPath(".")});
  EXPECT_EQ(barred.exit_code, 2);
  EXPECT_THAT(barred.errors, HasSubstr("/proc/cairn cannot be written"));
  const CommandResult typo = Install({"--perfix", prefix_});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_THAT(typo.errors, HasSubstr("unknown argument --perfix"));
}

}  // namespace
}  // namespace cairn::testing
