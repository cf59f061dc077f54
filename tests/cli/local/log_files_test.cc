#include "cli/local/log_files.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A new state directory with a folder for logs.
std::string NewState() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string state = testing::TempDir() + "/log_files_" + test->name();
  std::filesystem::remove_all(state);
  std::filesystem::create_directories(state + "/logs");
  return state;
}

void Append(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::app) << text;
}

TEST(LogFilesTest, TasksAreListedByKindAndThenByNumber) {
  const std::string state = NewState();
  for (const char* task : {"worker-10", "worker-2", "ps-0", "coordinator", "cairn"}) {
    Append(LogFile(state, task), "");
  }
  Append(state + "/logs/notes.txt", "");
  EXPECT_THAT(*LoggedTasks(state),
              ElementsAre("coordinator", "cairn", "ps-0", "worker-2", "worker-10"));
  EXPECT_THAT(*LoggedTasks("/no/such/state"), IsEmpty());
}

TEST(LogFilesTest, LastLinesAreThoseOfAWholeReading) {
  const std::string file = LogFile(NewState(), "ps-0");
  Append(file, "one\ntwo\n\nfour\n");
  LogTail tail(file);
  EXPECT_THAT(tail.LastLines(2), ElementsAre("", "four"));
  EXPECT_THAT(tail.LastLines(9), ElementsAre("one", "two", "", "four"));
  EXPECT_THAT(tail.LastLines(0), IsEmpty());
  EXPECT_THAT(LogTail("/no/such/file").LastLines(3), IsEmpty());
}

TEST(LogFilesTest, ALargeLogIsCopiedAndEmptiedWhileItsDaemonAppends) {
  const std::string file = LogFile(NewState(), "ps-0");
  RotateLog(file, 8);
  EXPECT_FALSE(std::filesystem::exists(file));
  std::ofstream daemon(file, std::ios::app);
  LogTail reader(file);
  daemon << "one\ntwo\n" << std::flush;
  RotateLog(file, 8);
  EXPECT_FALSE(std::filesystem::exists(file + ".1"));
  EXPECT_THAT(reader.NewLines(), ElementsAre("one", "two"));
  daemon << "three\n" << std::flush;
  RotateLog(file, 8);
  daemon << "four\n" << std::flush;
  EXPECT_THAT(reader.NewLines(), ElementsAre("four"));
  EXPECT_THAT(LogTail(file + ".1").LastLines(9), ElementsAre("one", "two", "three"));
  daemon << "five\nsix\n" << std::flush;
  RotateLog(file, 8);
  EXPECT_THAT(LogTail(file).LastLines(9), IsEmpty());
  EXPECT_THAT(LogTail(file + ".1").LastLines(9), ElementsAre("four", "five", "six"));
  EXPECT_THAT(*LoggedTasks(std::filesystem::path(file).parent_path().parent_path()),
              ElementsAre("ps-0"));
}

TEST(LogFilesTest, LinesOfSeveralTasksAreSortedByTheirTimes) {
  const std::string first = "2026-11-21T12:41:14.797+00:00 info a";
  const std::string second = "2026-11-21T14:41:14.798+02:00 info b";
  const std::string third = "2026-11-21T12:41:15.001+00:00 info c";
  std::vector<LogLine> lines = {{"coordinator", "before any time"},
                                {"coordinator", second},
                                {"coordinator", "  its second line"},
                                {"ps-0", first},
                                {"ps-0", third},
                                {"worker-0", third}};
  SortByTime(&lines);
  std::vector<std::string> texts, tasks;
  for (const LogLine& line : lines) {
    texts.push_back(line.text);
    tasks.push_back(line.task);
  }
  EXPECT_THAT(texts,
              ElementsAre("before any time", first, second, "  its second line", third, third));
  EXPECT_THAT(tasks,
              ElementsAre("coordinator", "ps-0", "coordinator", "coordinator", "ps-0", "worker-0"));
}

TEST(LogFilesTest, LinesLongerThanABlockAreWhole) {
  const std::string file = LogFile(NewState(), "ps-0");
  const std::string wide(200000, 'w');
  Append(file, "first\n" + wide + "\nlast\n");
  EXPECT_THAT(LogTail(file).LastLines(2), ElementsAre(wide, "last"));
}

TEST(LogFilesTest, NewLinesComeOnceAndOnlyWhole) {
  const std::string file = LogFile(NewState(), "ps-0");
  Append(file, "old\n");
  LogTail tail(file);
  tail.SkipToEnd();
  EXPECT_THAT(tail.NewLines(), IsEmpty());
  Append(file, "new\nha");
  EXPECT_THAT(tail.NewLines(), ElementsAre("new"));
  Append(file, "lf\n");
  EXPECT_THAT(tail.NewLines(), ElementsAre("half"));
}

TEST(LogFilesTest, AFileThatBecameShorterIsReadFromItsBeginning) {
  const std::string file = LogFile(NewState(), "ps-0");
  Append(file, "a long first line\n");
  LogTail tail(file);
  tail.SkipToEnd();
  std::ofstream(file, std::ios::trunc) << "again\n";
  EXPECT_THAT(tail.NewLines(), ElementsAre("again"));
}

}  // namespace
}  // namespace cairn::cli
