#include "common/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace cairn {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// Returns what `action` writes to standard error.
template <typename Action>
std::string Captured(Action action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

class LoggingTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(InitLogging({.program = "worker"}).ok()); }
  void TearDown() override { ASSERT_TRUE(InitLogging({.program = "cairn"}).ok()); }
};

TEST_F(LoggingTest, ALineHasTimeLevelProgramMessageAndFields) {
  const std::string line =
      Captured([] { CAIRN_LOG_INFO("batch done", "batch", 12, "loss", 0.5, "last", false); });
  EXPECT_THAT(line, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}"
                                 "[+-][0-9]{2}:?[0-9]{2} "
                                 "info worker batch done batch=12 loss=0.5 last=false\n"));
}

TEST_F(LoggingTest, AMessageNeedsNoFields) {
  EXPECT_THAT(Captured([] { CAIRN_LOG_ERROR("gone"); }), HasSubstr(" error worker gone\n"));
}

TEST_F(LoggingTest, ValuesThatWouldBreakTheLineAreQuotedAndEscaped) {
  const std::string line = Captured([] {
    CAIRN_LOG_WARNING("odd", "a", "x y", "b", "", "c", "k=v", "d", "say \"hi\"\n", "e",
                      std::string("\x01"), "f", "{}%s");
  });
  EXPECT_THAT(line, HasSubstr(" warning worker odd a=\"x y\" b=\"\" c=\"k=v\" "
                              "d=\"say \\\"hi\\\"\\n\" e=\"\\x01\" f={}%s\n"));
}

TEST_F(LoggingTest, StatusesAndDurationsHaveAText) {
  const std::string line = Captured([] {
    CAIRN_LOG_INFO("x", "status", absl::NotFoundError("no job"), "wait", absl::Milliseconds(1500));
  });
  EXPECT_THAT(line, HasSubstr("status=\"NOT_FOUND: no job\" wait=1.5s\n"));
}

TEST_F(LoggingTest, ALevelThatIsOffDoesNotEvaluateItsArguments) {
  int evaluated = 0;
  EXPECT_EQ(Captured([&] { CAIRN_LOG_DEBUG("quiet", "count", ++evaluated); }), "");
  EXPECT_EQ(evaluated, 0);
  ASSERT_TRUE(InitLogging({.level = "debug", .program = "worker"}).ok());
  EXPECT_THAT(Captured([&] { CAIRN_LOG_DEBUG("loud", "count", ++evaluated); }),
              HasSubstr(" debug worker loud count=1\n"));
}

TEST_F(LoggingTest, LinesAreAppendedToTheFileToo) {
  const std::string file = testing::TempDir() + "/logging_test.log";
  std::ofstream(file) << "earlier\n";
  ASSERT_TRUE(InitLogging({.file = file, .program = "worker"}).ok());
  Captured([] { CAIRN_LOG_INFO("both"); });
  std::ifstream input(file);
  const std::string content{std::istreambuf_iterator<char>(input), {}};
  EXPECT_THAT(content, MatchesRegex("earlier\n.* info worker both\n"));
}

TEST_F(LoggingTest, AFullFileIsRenamedAndTheOldestOfFiveGoes) {
  const std::string folder = testing::TempDir() + "/logging_rotation";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(InitLogging({.file = folder + "/a.log", .file_bytes = 1000}).ok());
  Captured([] {
    for (int line = 0; line < 200; ++line) CAIRN_LOG_INFO("a line", "number", line);
  });
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename());
    EXPECT_LE(entry.file_size(), 1000u);
  }
  EXPECT_EQ(names, (std::set<std::string>{"a.log", "a.1.log", "a.2.log", "a.3.log", "a.4.log"}));
  std::ifstream input(folder + "/a.log");
  const std::string content{std::istreambuf_iterator<char>(input), {}};
  EXPECT_THAT(content, HasSubstr("number=199\n"));
}

// The reader of standard error stops, as in `worker 2>&1 | less`.
TEST_F(LoggingTest, AReaderThatStopsDoesNotStopTheProgram) {
  constexpr int kLines = 10000;  // More than the pipe and the queue hold.
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const int standard_error = dup(STDERR_FILENO);
  ASSERT_GE(dup2(ends[1], STDERR_FILENO), 0);
  for (int line = 0; line < kLines; ++line) CAIRN_LOG_INFO("a line", "number", line);

  // A slow machine may lose lines more than once, and a read may end within a line.
  int written = 0;
  int lost = 0;
  for (std::string text; written + lost < kLines;) {
    pollfd readable = {.fd = ends[0], .events = POLLIN};
    ASSERT_EQ(poll(&readable, 1, 60'000), 1) << written << " written, " << lost << " lost";
    char buffer[4096];
    const ssize_t count = read(ends[0], buffer, sizeof buffer);
    ASSERT_GT(count, 0);
    text.append(buffer, count);
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      const std::string line = text.substr(0, end);
      if (line.find("log lines were lost") != std::string::npos) {
        lost += std::stoi(line.substr(line.rfind('=') + 1));
      } else {
        ++written;
      }
    }
  }
  ASSERT_GE(dup2(standard_error, STDERR_FILENO), 0);
  for (const int file : {ends[0], ends[1], standard_error}) close(file);
  EXPECT_EQ(written + lost, kLines);
  EXPECT_GT(lost, 0);
}

TEST_F(LoggingTest, AnUnknownLevelIsRefusedWithTheKnownOnes) {
  const absl::Status status = InitLogging({.level = "loud"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"loud\" is not one of debug, info"));
}

TEST_F(LoggingTest, AFileThatCannotBeOpenedIsNamed) {
  const absl::Status status = InitLogging({.file = "/proc/no/such.log"});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/no/such.log"));
}

}  // namespace
}  // namespace cairn
