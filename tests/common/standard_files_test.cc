#include "common/standard_files.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "gtest/gtest.h"

namespace cairn {
namespace {

// Whether `check` returns true in a process that starts with these descriptors closed.
bool WithoutFiles(const std::vector<int>& files, const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int file : files) close(file);
    OpenMissingStandardFiles();
    _exit(check() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

bool WritingFails(int file) { return write(file, "x", 1) == -1; }

TEST(StandardFilesTest, ALaterFileDoesNotGetAStandardDescriptor) {
  for (const std::vector<int>& files :
       {std::vector<int>{1}, std::vector<int>{0, 1}, std::vector<int>{0, 1, 2}}) {
    EXPECT_TRUE(WithoutFiles(files, [] { return open("/dev/null", O_WRONLY) > STDERR_FILENO; }))
        << files.size() << " closed";
  }
}

TEST(StandardFilesTest, WritesToAClosedOutputFail) {
  EXPECT_TRUE(WithoutFiles({1, 2}, [] { return WritingFails(1) && WritingFails(2); }));
}

TEST(StandardFilesTest, AClosedInputReadsAsEmpty) {
  char byte = 0;
  EXPECT_TRUE(WithoutFiles({0}, [&byte] { return read(0, &byte, 1) == 0; }));
}

TEST(StandardFilesTest, OpenFilesAreUnchanged) {
  EXPECT_TRUE(WithoutFiles({0}, [] {
    close(1);
    if (open("/dev/null", O_WRONLY) != 1) return false;
    OpenMissingStandardFiles();
    return write(1, "x", 1) == 1;
  }));
}

}  // namespace
}  // namespace cairn
