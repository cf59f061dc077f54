#include "storage/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/end_to_end/process.h"
#include "tests/storage/faulty_file_system.h"

namespace cairn::storage {
namespace {

using cairn::testing::Process;
using cairn::testing::ReadFile;
using cairn::testing::WaitUntil;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Records = std::map<std::string, std::string>;

std::string FreshDirectory() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string directory = absl::StrCat(::testing::TempDir(), "/journal_", test->name());
  std::filesystem::remove_all(directory);
  return directory;
}

std::unique_ptr<Journal> MustOpen(const std::string& directory, rocksdb::Env* env = nullptr) {
  auto journal = Journal::Open(directory, env);
  EXPECT_TRUE(journal.ok()) << journal.status();
  return journal.ok() ? *std::move(journal) : nullptr;
}

Records All(const Journal& journal, std::string_view prefix = "") {
  Records records;
  const absl::Status status =
      journal.ReadPrefix(prefix, [&](std::string_view key, std::string_view value) {
        records.emplace(key, value);
        return true;
      });
  EXPECT_TRUE(status.ok()) << status;
  return records;
}

std::set<std::string> FilesIn(const std::string& directory) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files.insert(absl::StrCat(entry.path().filename().string(), " ", entry.file_size()));
  }
  return files;
}

// Tests that need a second process. The process runs this program from the beginning of the test to
// the tested statement (see the "threadsafe" style in GoogleTest's documentation).
class JournalDeathTest : public ::testing::Test {
 protected:
  JournalDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Writes `count` records, key0 to key<count - 1>, and kills its process with SIGKILL.
void WriteAndDie(const std::string& directory, int count) {
  auto journal = Journal::Open(directory);
  for (int i = 0; i < count; ++i) {
    const std::string value = absl::StrCat("value", i, std::string(100, 'x'));
    if (!(*journal)->Write({{absl::StrCat("key", i), value}}, i % 10 == 0).ok()) _exit(1);
  }
  kill(getpid(), SIGKILL);
}

TEST(JournalTest, RecordsComeBackInKeyOrder) {
  const auto journal = MustOpen(FreshDirectory());
  ASSERT_TRUE(journal->Write({{"b", "2"}, {"a", "1"}, {"c", std::string("\0x", 2)}}, false).ok());
  EXPECT_THAT(All(*journal),
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", std::string("\0x", 2))));
  EXPECT_EQ(**journal->Read("b"), "2");
  EXPECT_EQ(*journal->Read("missing"), std::nullopt);
}

TEST(JournalTest, TheLastChangeOfAKeyWins) {
  const auto journal = MustOpen(FreshDirectory());
  ASSERT_TRUE(journal->Write({{"a", "1"}, {"a", "2"}, {"b", "1"}, {"b", std::nullopt}}, true).ok());
  EXPECT_THAT(All(*journal), ElementsAre(Pair("a", "2")));
}

TEST(JournalTest, ReadPrefixVisitsOnlyThePrefix) {
  const auto journal = MustOpen(FreshDirectory());
  const std::string high = "p\xff";
  ASSERT_TRUE(journal
                  ->Write({{"o", "1"},
                           {"p", "2"},
                           {"p/1", "3"},
                           {high, "4"},
                           {high + "z", "5"},
                           {"q", "6"},
                           {"\xff\xff", "7"}},
                          false)
                  .ok());
  EXPECT_THAT(All(*journal, "p/"), ElementsAre(Pair("p/1", "3")));
  EXPECT_THAT(All(*journal, high), ElementsAre(Pair(high, "4"), Pair(high + "z", "5")));
  EXPECT_THAT(All(*journal, "\xff"), ElementsAre(Pair("\xff\xff", "7")));
}

TEST(JournalTest, ReadPrefixStopsWhenVisitReturnsFalse) {
  const auto journal = MustOpen(FreshDirectory());
  ASSERT_TRUE(journal->Write({{"a", "1"}, {"b", "2"}, {"c", "3"}}, false).ok());
  int visited = 0;
  ASSERT_TRUE(
      journal->ReadPrefix("", [&](std::string_view, std::string_view) { return ++visited < 2; })
          .ok());
  EXPECT_EQ(visited, 2);
}

TEST_F(JournalDeathTest, WritesSurviveAKilledProcess) {
  const std::string directory = FreshDirectory();
  EXPECT_EXIT(WriteAndDie(directory, 100), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(All(*MustOpen(directory)).size(), 100u);
}

TEST(JournalTest, ASecondWriterIsRefusedWithTheDirectory) {
  const std::string directory = FreshDirectory();
  const auto journal = MustOpen(directory);
  const absl::Status status = Journal::Open(directory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another coordinator uses"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory));
}

TEST_F(JournalDeathTest, ASecondProcessIsRefusedToo) {
  // Not FreshDirectory: the second process runs this line too and would remove the first one's
  // journal.
  const std::string directory = ::testing::TempDir() + "/journal_of_two_processes";
  const auto journal = Journal::Open(directory);
  EXPECT_EXIT(
      {
        std::cerr << journal.status().message();
        _exit(3);
      },
      ::testing::ExitedWithCode(3), "another coordinator uses .*journal_of_two_processes");
  EXPECT_TRUE(journal.ok()) << journal.status();
}

TEST(JournalTest, ARemovedJournalRefusesWrites) {
  const std::string directory = FreshDirectory();
  const auto journal = MustOpen(directory);
  ASSERT_TRUE(journal->Write({{"a", "1"}}, true).ok());
  std::filesystem::remove_all(directory);
  EXPECT_THAT(std::string(journal->Write({{"b", "2"}}, true).message()),
              HasSubstr("the journal was removed from"));
}

TEST(JournalTest, OpenWaitsForADyingHolderOfTheLock) {
  const std::string directory = FreshDirectory();
  const std::string output = directory + ".holder";
  std::filesystem::remove(output);
  Process holder({.arguments = {"tests/storage/journal_holder", directory}, .output_file = output});
  ASSERT_TRUE(WaitUntil(std::chrono::seconds(30), [&] { return ReadFile(output) == "open\n"; }))
      << ReadFile(output);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    holder.Signal(SIGKILL);
  });
  EXPECT_TRUE(Journal::Open(directory).ok());
  killer.join();
}

TEST(JournalTest, AReaderSeesTheWritersRecordsAndChangesNothing) {
  const std::string directory = FreshDirectory();
  const auto writer = MustOpen(directory);
  ASSERT_TRUE(writer->Write({{"a", "1"}}, true).ok());
  ASSERT_TRUE(writer->Write({{"b", "2"}}, false).ok());
  const auto before = FilesIn(directory);
  {
    const auto reader = Journal::OpenReadOnly(directory);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_THAT(All(**reader), ElementsAre(Pair("a", "1"), Pair("b", "2")));
  }
  EXPECT_EQ(FilesIn(directory), before);
  ASSERT_TRUE(writer->Write({{"c", "3"}}, true).ok());
  EXPECT_EQ(All(**Journal::OpenReadOnly(directory)).size(), 3u);
}

TEST(JournalTest, OpenReadOnlyOfAMissingJournalIsNotFoundAndCreatesNothing) {
  const std::string directory = FreshDirectory();
  const absl::Status status = Journal::OpenReadOnly(directory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory));
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST_F(JournalDeathTest, ADamagedRecordIsDataLoss) {
  const std::string directory = FreshDirectory();
  EXPECT_EXIT(WriteAndDie(directory, 3), ::testing::KilledBySignal(SIGKILL), "");
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".log") continue;
    std::fstream log(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(log), {});
    log.seekp(bytes.find("value1") + 20);
    log.put('y');
  }
  const absl::Status status = Journal::Open(directory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory));
}

// A journal with one record, on a file system with an injected fault.
class JournalFaultTest : public ::testing::Test {
 protected:
  std::unique_ptr<Journal> Begin() {
    std::filesystem::remove_all(directory_);
    disk_ = std::make_shared<FaultyFileSystem>();
    env_ = rocksdb::NewCompositeEnv(disk_);
    auto journal = MustOpen(directory_, env_.get());
    EXPECT_TRUE(journal->Write({{"old", "1"}}, true).ok());
    return journal;
  }

  const std::string directory_ = FreshDirectory();
  std::shared_ptr<FaultyFileSystem> disk_;
  std::unique_ptr<rocksdb::Env> env_;
};

TEST_F(JournalFaultTest, AFullDiskStopsTheJournalUntilItIsOpenedAgain) {
  auto journal = Begin();
  disk_->FillDiskAfter(0);
  const absl::Status full = journal->Write({{"lost", "1"}}, true);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr(directory_));
  disk_->Heal();
  EXPECT_FALSE(journal->Write({{"too early", "1"}}, true).ok());
  EXPECT_EQ(**journal->Read("old"), "1");
  journal.reset();
  journal = MustOpen(directory_, env_.get());
  EXPECT_TRUE(journal->Write({{"new", "1"}}, true).ok());
  EXPECT_THAT(All(*journal, "old"), ElementsAre(Pair("old", "1")));
}

TEST_F(JournalFaultTest, AJournalClosesOnAFullDisk) {
  auto journal = Begin();
  disk_->FillDiskAfter(0);
  EXPECT_FALSE(journal->Write({{"lost", "1"}}, true).ok());
  journal.reset();
  disk_->Heal();
  EXPECT_THAT(All(*MustOpen(directory_, env_.get()), "old"), ElementsAre(Pair("old", "1")));
}

TEST_F(JournalFaultTest, NoWriteSucceedsAfterAFailedAppendOrSync) {
  for (int good = 0; good < 2; ++good) {
    std::unique_ptr<Journal> journal = Begin();
    disk_->FailOnceAfter(good);
    EXPECT_FALSE(journal->Write({{"lost", "1"}}, true).ok()) << good;
    EXPECT_TRUE(disk_->struck());
    EXPECT_FALSE(journal->Write({{"later", "1"}}, true).ok()) << good;
  }
}

TEST_F(JournalFaultTest, SyncedWritesSurviveAPowerFailureAtAnyPoint) {
  constexpr int kWrites = 4;
  bool struck = true;
  for (int good = 0; struck; ++good) {
    auto journal = Begin();
    disk_->CutPowerAfter(good);
    int written = 0;
    for (int i = 0; i < kWrites; ++i) {
      const std::string value = absl::StrCat(i);
      if (journal->Write({{"left", value}, {"right", value}}, true).ok()) written = i + 1;
    }
    journal.reset();
    struck = disk_->struck();
    disk_->RestorePower();
    const Records records = All(*MustOpen(directory_, env_.get()));
    EXPECT_EQ(records.at("old"), "1");
    EXPECT_EQ(records.count("left"), records.count("right")) << good;
    if (written == 0) continue;
    EXPECT_EQ(records.at("left"), absl::StrCat(written - 1)) << good;
    EXPECT_EQ(records.at("right"), absl::StrCat(written - 1)) << good;
  }
}

}  // namespace
}  // namespace cairn::storage
