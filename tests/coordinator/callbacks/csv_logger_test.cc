#include "coordinator/callbacks/csv_logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/faulty_files.h"

namespace cairn::coordinator {
namespace {

// The faults of files are those of a preloaded library, which such a build does not call.
#if defined(CAIRN_THREAD_SANITIZER)
constexpr bool kStatIsIntercepted = true;
#else
constexpr bool kStatIsIntercepted = false;
#endif

class CsvLoggerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.set_filename(::testing::TempDir() + "/" +
                         ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv");
    std::remove(config_.filename().c_str());
  }

  CsvLogger Make(bool logs_rate = false) const { return CsvLogger(config_, job_, logs_rate); }

  void WriteFile(const std::string& text) const { std::ofstream(config_.filename()) << text; }
  std::string Text() const {
    std::ifstream file(config_.filename());
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  static void SetSide(double loss, std::vector<double> metrics, proto::EvaluationRecord* side) {
    side->set_examples(10);
    side->set_loss(loss);
    side->mutable_metrics()->Assign(metrics.begin(), metrics.end());
  }
  static proto::EpochRecord Trained(double loss, std::vector<double> metrics = {}) {
    proto::EpochRecord record;
    SetSide(loss, std::move(metrics), record.mutable_training());
    return record;
  }

  proto::Callback config_;
  proto::Job job_;
};

// The expected texts are those that Keras 3.15's CSVLogger wrote for the same logs.
TEST_F(CsvLoggerTest, WritesWhatKerasWrites) {
  const double infinite = std::numeric_limits<double>::infinity();
  job_.add_metrics("a.b");
  for (const auto& [separator, expected] : std::vector<std::pair<std::string, std::string>>{
           {",",
            "epoch,a.b,learning_rate,loss,val_a.b,val_loss\r\n"
            "3,1e-05,0.0010000000474974513,0.1,1.0,nan\r\n"
            "4,0.6666666666666666,0.5,1.2345678901234568e+17,1e+16,inf\r\n"},
           {".",
            "epoch.\"a.b\".learning_rate.loss.\"val_a.b\".val_loss\r\n"
            "3.1e-05.\"0.0010000000474974513\".\"0.1\".\"1.0\".nan\r\n"
            "4.\"0.6666666666666666\".\"0.5\".\"1.2345678901234568e+17\".1e+16.inf\r\n"}}) {
    config_.set_separator(separator);
    CsvLogger log = Make(/*logs_rate=*/true);
    log.Start(log.SizeBefore());
    proto::EpochRecord first = Trained(0.1, {1e-5});
    SetSide(std::nan(""), {1}, first.mutable_validation());
    log.Add(3, first, 0.001f);
    proto::EpochRecord second = Trained(123456789012345680.0, {2.0 / 3});
    SetSide(infinite, {1e16}, second.mutable_validation());
    log.Add(4, second, 0.5);
    ASSERT_TRUE(log.Flush().ok());
    EXPECT_EQ(Text(), expected);
  }
}

TEST_F(CsvLoggerTest, AnEpochWithoutValidationHasNA) {
  job_.add_metrics("mae");
  CsvLogger log = Make();
  log.Add(0, Trained(0.5, {0.25}), 0);
  ASSERT_TRUE(log.Flush().ok());
  proto::EpochRecord second = Trained(0.25, {0.125});
  SetSide(3, {2}, second.mutable_validation());
  log.Add(1, second, 0);
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(Text(),
            "epoch,loss,mae,val_loss,val_mae\r\n0,0.5,0.25,NA,NA\r\n1,0.25,0.125,3.0,2.0\r\n");
}

TEST_F(CsvLoggerTest, NamesAreQuotedAsInPython) {
  job_.add_metrics("a\"b");
  job_.add_metrics("x,y");
  WriteFile(std::string(100, 'x'));
  CsvLogger log = Make();
  log.Start(log.SizeBefore());
  log.Add(0, Trained(-0.0, {0.5, 1e22}), 0);
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(Text(),
            "epoch,\"a\"\"b\",loss,\"x,y\",\"val_a\"\"b\",val_loss,\"val_x,y\"\r\n"
            "0,0.5,-0.0,1e+22,NA,NA,NA\r\n");
}

TEST_F(CsvLoggerTest, AFileThatCannotBeReachedAtTheStartKeepsItsLines) {
  if (kStatIsIntercepted) GTEST_SKIP() << "the thread sanitizer replaces stat and open";
  config_.set_append(true);
  WriteFile("epoch,loss,val_loss\r\n0,9.5,NA\r\n");
  const std::string rules = ::testing::TempDir() + "/csv_logger_rules";
  const cairn::testing::FaultyFiles faults(rules);
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  faults.Set({{"stat", "AFileThatCannotBeReached", ESTALE}});
  CsvLogger log = Make();
  log.Start(log.SizeBefore());
  EXPECT_TRUE(log.CheckUnchanged(log.written()).ok());
  log.Add(1, Trained(0.5), 0);
  EXPECT_FALSE(log.Flush().ok());
  faults.Clear();
  unsetenv("CAIRN_FAULTY_FILES");
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(Text(), "epoch,loss,val_loss\r\n0,9.5,NA\r\n1,0.5,NA\r\n");
}

// Makes operations on the test's file hang while it exists.
class HangingFile {
 public:
  HangingFile() : faults_(::testing::TempDir() + "/hanging_rules") {
    setenv("CAIRN_FAULTY_FILES", (::testing::TempDir() + "/hanging_rules").c_str(), 1);
  }
  void Hang(const std::string& operation) const {
    faults_.Set({{operation, ::testing::UnitTest::GetInstance()->current_test_info()->name()}});
  }
  void Answer() const { faults_.Clear(); }
  ~HangingFile() { Answer(); }

 private:
  const cairn::testing::FaultyFiles faults_;
};

// Until it works or fails for another reason.
absl::Status FlushAtLast(CsvLogger* log) {
  absl::Status status;
  for (int i = 0; i < 3000; ++i) {
    status = log->Flush(absl::Milliseconds(10));
    if (!absl::IsUnavailable(status)) break;
    usleep(10'000);
  }
  return status;
}

TEST_F(CsvLoggerTest, AFileThatHangsIsNotWaitedForAndGetsItsLinesWhenItAnswers) {
  if (kStatIsIntercepted) GTEST_SKIP() << "the thread sanitizer replaces stat and open";
  const HangingFile file;
  CsvLogger log = Make();
  log.Start(log.SizeBefore());
  std::string expected = "epoch,loss,val_loss\r\n";
  int64_t epoch = 0;
  for (const char* operation : {"open", "stat", "write"}) {
    file.Hang(operation);
    for (int i = 0; i < 3; ++i) {
      log.Add(epoch, Trained(0.5), 0);
      expected += std::to_string(epoch++) + ",0.5,NA\r\n";
      const absl::Status status = log.Flush(absl::Milliseconds(100));
      EXPECT_TRUE(absl::IsUnavailable(status)) << operation << status;
      EXPECT_THAT(std::string(status.message()),
                  ::testing::StartsWith(config_.filename() + ": has not answered for "));
    }
    // The same file, by whoever asks.
    EXPECT_TRUE(absl::IsUnavailable(Make().CheckFile()));
    config_.set_append(true);
    EXPECT_EQ(Make().SizeBefore(), CsvLogger::kUnknownSize);
    config_.set_append(false);
    EXPECT_TRUE(absl::IsUnavailable(Make().CheckUnchanged({0, 1, 0}))) << operation;
    file.Answer();
    ASSERT_TRUE(FlushAtLast(&log).ok());
    EXPECT_EQ(Text(), expected);
  }
}

// The job ends, is cancelled or rolls back while its file hangs.
TEST_F(CsvLoggerTest, AWriteThatHangsEndsBeforeTheNextOneOnTheFileAndIsNoChangeByOthers) {
  const HangingFile file;
  CsvLogger::Written written;
  {
    CsvLogger log = Make();
    log.Add(0, Trained(0.5), 0);
    ASSERT_TRUE(log.Flush().ok());
    log.Add(1, Trained(0.25), 0);
    file.Hang("write");
    EXPECT_TRUE(absl::IsUnavailable(log.Flush(absl::Milliseconds(100))));
    written = log.written();
  }
  EXPECT_LT(written.end, written.whole_end);
  CsvLogger next = Make();
  next.Add(0, Trained(0.5), 0);
  next.Add(1, Trained(0.125), 0);  // Trained again.
  EXPECT_TRUE(absl::IsUnavailable(next.Flush(absl::Milliseconds(100))));
  EXPECT_EQ(Text(), "epoch,loss,val_loss\r\n0,0.5,NA\r\n");
  file.Answer();
  absl::Status unchanged = absl::UnavailableError("");
  for (int i = 0; i < 3000 && absl::IsUnavailable(unchanged); ++i) {
    usleep(10'000);
    unchanged = Make().CheckUnchanged(written);
  }
  EXPECT_TRUE(unchanged.ok()) << unchanged;
  EXPECT_EQ(Text(), "epoch,loss,val_loss\r\n0,0.5,NA\r\n1,0.25,NA\r\n");
  WriteFile("epoch,loss,val_loss\r\n0,0.5,NA\r\n");
  EXPECT_TRUE(Make().CheckUnchanged(written).ok()) << "the write was lost with its file server";
  WriteFile("epoch,loss,val_loss\r\n0,0.5,NA\r\n1,0.75,NA\r\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(Make().CheckUnchanged(written)));
  ASSERT_TRUE(FlushAtLast(&next).ok());
  EXPECT_EQ(Text(), "epoch,loss,val_loss\r\n0,0.5,NA\r\n1,0.125,NA\r\n");
}

// Where the job's lines begin is known to the caller, who journals it, before the file changes.
TEST_F(CsvLoggerTest, AWriteThatNobodyWaitsForDoesNotBeginAtAPlaceThatNobodyKnows) {
  if (kStatIsIntercepted) GTEST_SKIP() << "the thread sanitizer replaces stat and open";
  config_.set_append(true);
  WriteFile("epoch,loss,val_loss\r\n0,9.5,NA\r\n");
  const std::string before = Text();
  const HangingFile file;
  CsvLogger log = Make();
  log.Start(CsvLogger::kUnknownSize);
  log.Add(1, Trained(0.5), 0);
  file.Hang("stat");
  EXPECT_TRUE(absl::IsUnavailable(log.Flush(absl::Milliseconds(100))));
  EXPECT_EQ(log.written().begin, CsvLogger::kUnknownSize);
  file.Answer();
  for (int i = 0; i < 3000 && log.written().begin == CsvLogger::kUnknownSize; ++i) usleep(10'000);
  EXPECT_EQ(log.written().begin, static_cast<int64_t>(before.size()));
  EXPECT_EQ(Text(), before);
  ASSERT_TRUE(FlushAtLast(&log).ok());
  EXPECT_EQ(Text(), before + "1,0.5,NA\r\n");
}

TEST_F(CsvLoggerTest, AppendsWithoutAHeaderUnlessTheFileIsEmpty) {
  config_.set_append(true);
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"old\n", "old\n0,0.5,NA\r\n"}, {"", "epoch,loss,val_loss\r\n0,0.5,NA\r\n"}}) {
    WriteFile(before);
    CsvLogger log = Make();
    log.Start(log.SizeBefore());
    log.Add(0, Trained(0.5), 0);
    ASSERT_TRUE(log.Flush().ok());
    EXPECT_EQ(Text(), after);
  }
}

TEST_F(CsvLoggerTest, ANewProcessLeavesEachLineOnce) {
  config_.set_append(true);
  WriteFile("old\n");
  CsvLogger first = Make();
  first.Start(4);
  for (int64_t epoch = 0; epoch < 3; ++epoch) first.Add(epoch, Trained(0.5), 0);
  ASSERT_TRUE(first.Flush().ok());
  // Knows of one epoch less: the last one was not journaled.
  CsvLogger second = Make();
  second.Start(4);
  for (int64_t epoch = 0; epoch < 2; ++epoch) second.Add(epoch, Trained(0.5), 0);
  ASSERT_TRUE(second.Flush().ok());
  EXPECT_EQ(Text(), "old\n0,0.5,NA\r\n1,0.5,NA\r\n");
  second.Add(2, Trained(0.25), 0);
  ASSERT_TRUE(second.Flush().ok());
  EXPECT_EQ(Text(), "old\n0,0.5,NA\r\n1,0.5,NA\r\n2,0.25,NA\r\n");
}

TEST_F(CsvLoggerTest, AFileThatSomebodyRemovedGetsAllLines) {
  config_.set_append(true);
  WriteFile("old\n");
  CsvLogger log = Make();
  log.Start(log.SizeBefore());
  log.Add(0, Trained(0.5), 0);
  ASSERT_TRUE(log.Flush().ok());
  ASSERT_EQ(std::remove(config_.filename().c_str()), 0);
  log.Add(1, Trained(0.25), 0);
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(Text(), "epoch,loss,val_loss\r\n0,0.5,NA\r\n1,0.25,NA\r\n");
}

TEST_F(CsvLoggerTest, AFileThatAnotherJobHasWrittenToIsNotAsItWasLeft) {
  for (const bool append : {false, true}) {
    config_.set_append(append);
    WriteFile("old\n");
    CsvLogger log = Make();
    log.Start(log.SizeBefore());
    EXPECT_EQ(log.written().end, append ? 4 : 0);
    for (int64_t epoch = 0; epoch < 2; ++epoch) log.Add(epoch, Trained(0.5), 0);
    ASSERT_TRUE(log.Flush().ok());
    const CsvLogger::Written written = log.written();
    const std::string left = Text();
    EXPECT_EQ(written.begin, append ? 4 : 0);
    EXPECT_EQ(written.end, static_cast<int64_t>(left.size()));
    EXPECT_TRUE(Make().CheckUnchanged(written).ok());
    std::string other = left;  // Of the same size.
    other[left.size() - 8] = '7';
    for (const std::string& changed : {left + "0,1.0,NA\r\n", left.substr(1), other}) {
      WriteFile(changed);
      EXPECT_EQ(Make().CheckUnchanged(written),
                absl::FailedPreconditionError(config_.filename() +
                                              ": has changed since the job wrote it; move it away, "
                                              "or write it as it was"))
          << changed;
      EXPECT_EQ(Text(), changed);
    }
    WriteFile("");
    EXPECT_TRUE(Make().CheckUnchanged(written).ok()) << "there is nothing to lose";
    std::remove(config_.filename().c_str());
    EXPECT_TRUE(Make().CheckUnchanged(written).ok());
    EXPECT_NE(access(config_.filename().c_str(), F_OK), 0) << "the check creates no file";
  }
}

// Whatever happens to the file, the record is that of what is in it.
TEST_F(CsvLoggerTest, TheRecordOfWhatIsWrittenFollowsTheFile) {
  config_.set_append(true);
  WriteFile("old\n");
  CsvLogger log = Make();
  log.Start(log.SizeBefore());
  for (int64_t epoch = 0; epoch < 30; ++epoch) {
    log.Add(epoch, Trained(0.5 / static_cast<double>(epoch + 1)), 0);
    if (epoch % 10 == 8) WriteFile("other\n");
    if (epoch == 25) WriteFile("");
    ASSERT_TRUE(log.Flush().ok());
    const std::string text = Text();
    const CsvLogger::Written written = log.written();
    EXPECT_EQ(written.end, static_cast<int64_t>(text.size()));
    EXPECT_EQ(written.fingerprint,
              XXH3_64bits(text.data() + written.begin, text.size() - written.begin))
        << epoch;
    EXPECT_TRUE(Make().CheckUnchanged(written).ok());
    EXPECT_EQ(text.substr(0, written.begin), epoch < 8 ? "old\n" : written.begin > 0 ? "othe" : "");
  }
}

TEST_F(CsvLoggerTest, AJobThatHasWrittenNothingOverwritesTheFileUnlessItAppends) {
  WriteFile("old\n");
  EXPECT_TRUE(Make().CheckUnchanged(Make().written()).ok());
  config_.set_append(true);
  CsvLogger log = Make();
  log.Start(log.SizeBefore());
  WriteFile("old\n0,1.0,NA\r\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(Make().CheckUnchanged(log.written())));
  // The file was empty when the job began.
  EXPECT_TRUE(absl::IsFailedPrecondition(Make().CheckUnchanged({})));
  WriteFile("");
  EXPECT_TRUE(Make().CheckUnchanged({}).ok());
}

TEST_F(CsvLoggerTest, AnotherFileIsNotOverwritten) {
  for (const char* text : {"ep", "export PATH=/bin\n", "loss,epoch\r\n"}) {
    WriteFile(text);
    EXPECT_EQ(Make().CheckFile().message(),
              config_.filename() +
                  ": is not a file of csv_logger, which begins with \"epoch\"; use another name");
    EXPECT_EQ(Text(), text);
  }
  config_.set_filename(::testing::TempDir() + "/authorized_keys");
  EXPECT_EQ(Make().CheckFile().message(),
            config_.filename() + ": the name ends with none of .csv, .log, .tsv, .txt");
  SetUp();
  for (const char* text : {"", "epoch;loss\r\n0;1.5\r\n"}) {
    WriteFile(text);
    EXPECT_TRUE(Make().CheckFile().ok()) << text;
  }
}

TEST_F(CsvLoggerTest, FilesThatCannotBeWrittenAreNamed) {
  EXPECT_TRUE(Make().CheckFile().ok());
  config_.set_filename("/no/such/folder/log.csv");
  EXPECT_EQ(Make().CheckFile().message(),
            "/no/such/folder/log.csv: cannot be written: No such file or directory");
  EXPECT_FALSE(Make().Flush().ok());
  config_.set_filename(::testing::TempDir() + "/pipe.csv");
  ASSERT_TRUE(mkfifo(config_.filename().c_str(), 0600) == 0 || errno == EEXIST);
  EXPECT_FALSE(Make().CheckFile().ok()) << "must not wait for a reader";
  config_.set_filename(::testing::TempDir() + "/null.csv");
  ASSERT_TRUE(symlink("/dev/null", config_.filename().c_str()) == 0 || errno == EEXIST);
  EXPECT_EQ(Make().CheckFile().message(), config_.filename() + ": is not a regular file");
}

}  // namespace
}  // namespace cairn::coordinator
