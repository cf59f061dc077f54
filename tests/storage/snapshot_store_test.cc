#include "storage/snapshot_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "tests/storage/faulty_file_system.h"

namespace cairn::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kBlocks = 5;
constexpr size_t kBlockBytes = 100'000;

std::string FreshDirectory() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string directory = absl::StrCat(testing::TempDir(), "/store_", test->name());
  std::filesystem::remove_all(directory);
  return directory;
}

std::unique_ptr<SnapshotStore> MustOpen(const std::string& directory, rocksdb::Env* env = nullptr) {
  auto store = SnapshotStore::Open(directory, env);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

// The contents of block `id` of a snapshot with this seed; a pure function, so that any process can
// compute them.
std::string Payload(uint64_t seed, uint32_t id) {
  std::string bytes(kBlockBytes + id, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(RandomBits(DeriveKey(seed, id), i));
  }
  return bytes;
}

std::string Header(uint64_t seed, uint32_t id) { return absl::StrCat("header ", seed, " ", id); }

// Writes a snapshot of blocks 0, 10, 20, ... whose contents are derived from `seed`.
absl::StatusOr<SnapshotSummary> WriteSnapshot(SnapshotStore& store, uint64_t job,
                                              uint64_t checkpoint, uint64_t seed) {
  auto writer = store.BeginSnapshot(job, checkpoint);
  if (!writer.ok()) return writer.status();
  for (uint32_t id = 0; id < 10 * kBlocks; id += 10) {
    const std::string payload = Payload(seed, id);
    const std::string_view all = payload;
    const absl::Status added =
        (*writer)->Add(id, Header(seed, id), {all.substr(0, 1000), all.substr(1000)});
    if (!added.ok()) return added;
  }
  return (*writer)->Finish();
}

void ExpectSnapshot(const SnapshotStore& store, uint64_t job, uint64_t checkpoint, uint64_t seed) {
  const auto snapshot = store.OpenSnapshot(job, checkpoint);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_THAT((*snapshot)->ListBlocks(), ElementsAre(0, 10, 20, 30, 40));
  EXPECT_TRUE((*snapshot)->Verify().ok());
  for (uint32_t id : (*snapshot)->ListBlocks()) {
    const auto block = (*snapshot)->ReadBlock(id);
    ASSERT_TRUE(block.ok()) << block.status();
    EXPECT_EQ(block->header(), Header(seed, id));
    EXPECT_TRUE(block->payload() == Payload(seed, id)) << id;
  }
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files.push_back(entry.path().filename().string());
  }
  return files;
}

uint64_t BytesIn(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    bytes += entry.file_size();
  }
  return bytes;
}

void FlipByte(const std::string& path, size_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const char byte = static_cast<char>(file.get());
  file.seekp(offset);
  file.put(static_cast<char>(byte ^ 0x10));
}

TEST(SnapshotStoreTest, ASnapshotRoundTrips) {
  const std::string directory = FreshDirectory();
  SnapshotSummary written;
  {
    const auto store = MustOpen(directory);
    const auto summary = WriteSnapshot(*store, 1, 7, 42);
    ASSERT_TRUE(summary.ok()) << summary.status();
    written = *summary;
    EXPECT_EQ(written.blocks, kBlocks);
  }
  const auto store = MustOpen(directory);
  ExpectSnapshot(*store, 1, 7, 42);
  EXPECT_EQ((*store->OpenSnapshot(1, 7))->summary(), written);
  EXPECT_THAT(*store->ListBlocks(1, 7), ElementsAre(0, 10, 20, 30, 40));
  EXPECT_EQ(store->ReadBlock(1, 7, 20)->header(), Header(42, 20));
}

TEST(SnapshotStoreTest, TheSummaryIsAFunctionOfTheContents) {
  const auto store = MustOpen(FreshDirectory());
  const auto first = WriteSnapshot(*store, 1, 1, 42);
  EXPECT_EQ(*WriteSnapshot(*store, 1, 2, 42), *first);
  EXPECT_NE(WriteSnapshot(*store, 1, 3, 43)->checksum, first->checksum);
}

TEST(SnapshotStoreTest, ASnapshotMayBeEmpty) {
  const auto store = MustOpen(FreshDirectory());
  auto writer = store->BeginSnapshot(1, 1);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ((*writer)->Finish()->blocks, 0u);
  EXPECT_THAT(*store->ListBlocks(1, 1), IsEmpty());
}

TEST(SnapshotStoreTest, SnapshotsAreListedByJobInOrder) {
  const auto store = MustOpen(FreshDirectory());
  for (uint64_t checkpoint : {10, 9, 100}) {
    ASSERT_TRUE(WriteSnapshot(*store, 1, checkpoint, checkpoint).ok());
  }
  ASSERT_TRUE(WriteSnapshot(*store, 11, 5, 5).ok());
  EXPECT_THAT(*store->ListSnapshots(1), ElementsAre(9, 10, 100));
  EXPECT_THAT(*store->ListSnapshots(2), IsEmpty());
}

TEST(SnapshotStoreTest, MissingSnapshotsAndBlocksAreNamed) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 1).ok());
  const absl::Status no_block = store->ReadBlock(1, 1, 11).status();
  EXPECT_EQ(no_block.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_block.message()), HasSubstr("block 11"));
  const absl::Status no_snapshot = store->ReadBlock(1, 2, 0).status();
  EXPECT_EQ(no_snapshot.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_snapshot.message()), HasSubstr("job 1, checkpoint 2"));
  EXPECT_THAT(std::string(no_snapshot.message()), HasSubstr(directory));
}

TEST(SnapshotStoreTest, AnAbandonedWriterLeavesNothing) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  {
    auto writer = store->BeginSnapshot(1, 1);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Add(0, "h", {"payload"}).ok());
  }
  EXPECT_THAT(FilesIn(directory), ElementsAre("LOCK"));
  EXPECT_THAT(*store->ListSnapshots(1), IsEmpty());
}

TEST(SnapshotStoreTest, ASnapshotOfTheSameNameIsReplaced) {
  const auto store = MustOpen(FreshDirectory());
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 5).ok());
  auto abandoned = store->BeginSnapshot(1, 1);
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 6).ok());
  abandoned->reset();
  ExpectSnapshot(*store, 1, 1, 6);
}

TEST(SnapshotStoreTest, SnapshotsAreWrittenAndReadAtTheSameTime) {
  const auto store = MustOpen(FreshDirectory());
  ASSERT_TRUE(WriteSnapshot(*store, 1, 0, 0).ok());
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 3; ++t) {
    threads.emplace_back([&store, t] { EXPECT_TRUE(WriteSnapshot(*store, t, t, t).ok()); });
    threads.emplace_back([&store] { ExpectSnapshot(*store, 1, 0, 0); });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t t = 1; t <= 3; ++t) ExpectSnapshot(*store, t, t, t);
}

TEST(SnapshotStoreTest, DeletionFreesTheSpaceAndKeepsOtherSnapshots) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  const uint64_t empty_bytes = BytesIn(directory);
  for (uint64_t job : {1, 12}) {
    for (uint64_t checkpoint : {1, 2, 3}) {
      ASSERT_TRUE(WriteSnapshot(*store, job, checkpoint, job).ok());
    }
  }
  const uint64_t one = (BytesIn(directory) - empty_bytes) / 6;
  EXPECT_GT(one, kBlocks * kBlockBytes);
  auto copy = store->BeginSnapshot(SnapshotName{1, 2, 7});
  ASSERT_TRUE(copy.ok() && (*copy)->Finish().ok());
  EXPECT_EQ(store->ListNames(1)->size(), 4u);
  EXPECT_THAT(*store->ListSnapshots(1), ElementsAre(1, 2, 3)) << "without what is kept for others";
  EXPECT_TRUE(store->OpenSnapshot(SnapshotName{1, 2, 7}).ok());
  ASSERT_TRUE(store->DeleteCheckpoint(1, 2).ok());
  EXPECT_LT(BytesIn(directory), 6 * one - one / 2);
  EXPECT_THAT(*store->ListSnapshots(1), ElementsAre(1, 3));
  ASSERT_TRUE(store->DeleteJob(1).ok());
  EXPECT_THAT(*store->ListSnapshots(1), IsEmpty());
  EXPECT_THAT(*store->ListSnapshots(12), ElementsAre(1, 2, 3));
  ASSERT_TRUE(store->DeleteJob(12).ok());
  EXPECT_EQ(BytesIn(directory), empty_bytes);
  EXPECT_TRUE(store->DeleteCheckpoint(1, 2).ok());
  EXPECT_TRUE(store->DeleteJob(1).ok());
}

TEST(SnapshotStoreTest, AReaderSurvivesTheDeletionOfItsSnapshot) {
  const auto store = MustOpen(FreshDirectory());
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 9).ok());
  const auto snapshot = store->OpenSnapshot(1, 1);
  ASSERT_TRUE(store->DeleteJob(1).ok());
  EXPECT_TRUE((*snapshot)->ReadBlock(40)->payload() == Payload(9, 40));
}

TEST(SnapshotStoreTest, SnapshotsBelongToTheirCluster) {
  const std::string directory = FreshDirectory();
  auto store = MustOpen(directory);
  EXPECT_EQ(store->cluster_id(), 0u);
  ASSERT_TRUE(store->BelongTo(0xfedcba9876543210).ok());
  EXPECT_EQ(store->cluster_id(), 0u) << "nothing is there that could be spoilt";
  ASSERT_TRUE(store->BelongTo(7).ok());
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 9).ok());
  EXPECT_EQ(store->cluster_id(), 7u);
  store.reset();
  store = MustOpen(directory);
  EXPECT_EQ(store->cluster_id(), 7u);
  ASSERT_TRUE(store->DeleteJob(1).ok());
  store.reset();
  EXPECT_EQ(MustOpen(directory)->cluster_id(), 0u);
}

// Every bit of the file, and every shorter file: otherwise the snapshots could be taken for those
// of another cluster, or of any.
TEST(SnapshotStoreTest, ADamagedClusterFileIsNotBelieved) {
  const std::string directory = FreshDirectory();
  auto store = MustOpen(directory);
  ASSERT_TRUE(store->BelongTo(0xfedcba9876543210).ok());
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 9).ok());
  store.reset();
  std::string text;
  rocksdb::Env* const env = rocksdb::Env::Default();
  const std::string path = directory + "/CLUSTER";
  ASSERT_TRUE(rocksdb::ReadFileToString(env, path, &text).ok());
  const auto expect_refused = [&](const std::string& damaged) {
    ASSERT_TRUE(rocksdb::WriteStringToFile(env, damaged, path).ok());
    const absl::Status status = SnapshotStore::Open(directory).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << damaged << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  };
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] ^= 1 << bit % 8;
    expect_refused(damaged);
  }
  for (size_t size = 0; size < text.size(); ++size) expect_refused(text.substr(0, size));
  ASSERT_TRUE(rocksdb::WriteStringToFile(env, text, path).ok());
  EXPECT_EQ(MustOpen(directory)->cluster_id(), 0xfedcba9876543210);
}

TEST(SnapshotStoreTest, ASecondPsIsRefusedWithTheDirectory) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  const absl::Status status = SnapshotStore::Open(directory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another ps uses"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory));
}

TEST(SnapshotStoreTest, AReadOnlyStoreSeesTheWritersSnapshotsAndChangesNothing) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 1).ok());
  auto writer = store->BeginSnapshot(1, 2);
  ASSERT_TRUE(writer.ok());
  const auto before = FilesIn(directory);
  const auto reader = SnapshotStore::OpenReadOnly(directory);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_THAT(*(*reader)->ListSnapshots(1), ElementsAre(1));
  ExpectSnapshot(**reader, 1, 1, 1);
  EXPECT_EQ(FilesIn(directory), before);
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_THAT(*(*reader)->ListSnapshots(1), ElementsAre(1, 2));
  EXPECT_EQ(SnapshotStore::OpenReadOnly(directory + "/no").status().code(),
            absl::StatusCode::kNotFound);
}

// Finishes one snapshot, begins a second, and kills its process with SIGKILL.
void WriteAndDie(const std::string& directory) {
  auto store = SnapshotStore::Open(directory);
  if (!WriteSnapshot(**store, 1, 1, 3).ok()) _exit(1);
  auto writer = (*store)->BeginSnapshot(1, 2);
  if (!(*writer)->Add(0, "h", {Payload(3, 0)}).ok()) _exit(1);
  kill(getpid(), SIGKILL);
}

TEST(SnapshotStoreDeathTest, AKilledProcessLeavesOnlyItsFinishedSnapshots) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string directory = FreshDirectory();
  EXPECT_EXIT(WriteAndDie(directory), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(FilesIn(directory).size(), 3u);
  const auto store = MustOpen(directory);
  EXPECT_THAT(FilesIn(directory), UnorderedElementsAre("LOCK", "job-1.checkpoint-1.sst"));
  ExpectSnapshot(*store, 1, 1, 3);
}

TEST(SnapshotStoreTest, AFlippedByteIsReportedWithItsBlockAndKeepsTheOthersReadable) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 4).ok());
  // Blocks are stored in ascending order, so this byte is in the middle of the third block, 20.
  FlipByte(directory + "/job-1.checkpoint-1.sst", 2 * kBlockBytes + kBlockBytes / 2);
  const absl::Status damaged = store->ReadBlock(1, 1, 20).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss) << damaged;
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("block 20"));
  EXPECT_THAT(std::string(damaged.message()), HasSubstr(directory));
  const absl::Status verified = (*store->OpenSnapshot(1, 1))->Verify();
  EXPECT_EQ(verified.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(verified.message()), HasSubstr("block 20"));
  for (uint32_t id : {0, 10, 30, 40}) {
    EXPECT_TRUE(store->ReadBlock(1, 1, id)->payload() == Payload(4, id)) << id;
  }
}

TEST(SnapshotStoreTest, AFlippedByteNeverYieldsWrongDataOrAffectsOtherSnapshots) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 4).ok());
  ASSERT_TRUE(WriteSnapshot(*store, 1, 2, 5).ok());
  const std::string path = directory + "/job-1.checkpoint-1.sst";
  const size_t size = std::filesystem::file_size(path);
  // Tests every byte of the index and the footer, and a sample of the blocks.
  const size_t tail = size - 2000;
  for (size_t offset = 0; offset < size; offset += offset < tail ? 9973 : 1) {
    FlipByte(path, offset);
    const auto snapshot = store->OpenSnapshot(1, 1);
    if (snapshot.ok() && (*snapshot)->Verify().ok()) {
      // A flipped byte in the table file's own metadata may be harmless; then the data must be
      // correct.
      ExpectSnapshot(*store, 1, 1, 4);
    }
    FlipByte(path, offset);
  }
  ExpectSnapshot(*store, 1, 1, 4);
  ExpectSnapshot(*store, 1, 2, 5);
}

TEST(SnapshotStoreTest, ARenamedSnapshotIsRefused) {
  const std::string directory = FreshDirectory();
  const auto store = MustOpen(directory);
  ASSERT_TRUE(WriteSnapshot(*store, 1, 1, 4).ok());
  std::filesystem::copy(directory + "/job-1.checkpoint-1.sst",
                        directory + "/job-1.checkpoint-2.sst");
  std::ofstream(directory + "/job-1.checkpoint-3.sst") << "not a table";
  std::ofstream(directory + "/job-1.checkpoint-4.sst");
  for (uint64_t checkpoint : {2, 3, 4}) {
    const absl::Status status = store->OpenSnapshot(1, checkpoint).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  }
}

// A store with one snapshot, on a file system with an injected fault.
class SnapshotStoreFaultTest : public testing::Test {
 protected:
  std::unique_ptr<SnapshotStore> Begin() {
    std::filesystem::remove_all(directory_);
    disk_ = std::make_shared<FaultyFileSystem>();
    env_ = rocksdb::NewCompositeEnv(disk_);
    auto store = MustOpen(directory_, env_.get());
    EXPECT_TRUE(WriteSnapshot(*store, 1, 1, 1).ok());
    return store;
  }

  const std::string directory_ = FreshDirectory();
  std::shared_ptr<FaultyFileSystem> disk_;
  std::unique_ptr<rocksdb::Env> env_;
};

TEST_F(SnapshotStoreFaultTest, AFullDiskAtAnyPointFailsOnlyThatSnapshot) {
  int good = 0;
  for (bool struck = true; struck; ++good) {
    const auto store = Begin();
    disk_->FillDiskAfter(good);
    const auto summary = WriteSnapshot(*store, 1, 2, 2);
    struck = disk_->struck();
    ASSERT_EQ(summary.ok(), !struck) << good;
    if (struck) {
      EXPECT_EQ(summary.status().code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(std::string(summary.status().message()), HasSubstr(directory_));
      EXPECT_THAT(FilesIn(directory_), UnorderedElementsAre("LOCK", "job-1.checkpoint-1.sst"));
    }
    ExpectSnapshot(*store, 1, 1, 1);
    disk_->Heal();
    EXPECT_TRUE(WriteSnapshot(*store, 1, 3, 3).ok()) << good;
    ExpectSnapshot(*store, 1, 3, 3);
  }
  EXPECT_GT(good, 5);
}

TEST_F(SnapshotStoreFaultTest, AFailureAtAnyPointIsReportedByFinish) {
  for (int good = 0;; ++good) {
    const auto store = Begin();
    disk_->FailOnceAfter(good);
    const auto summary = WriteSnapshot(*store, 1, 2, 2);
    if (!disk_->struck()) break;
    EXPECT_EQ(summary.status().code(), absl::StatusCode::kInternal) << good;
    EXPECT_THAT(*store->ListSnapshots(1), ElementsAre(1)) << good;
    EXPECT_TRUE(WriteSnapshot(*store, 1, 2, 3).ok()) << good;
    ExpectSnapshot(*store, 1, 2, 3);
  }
}

TEST_F(SnapshotStoreFaultTest, APowerFailureAtAnyPointLeavesCompleteSnapshots) {
  bool struck = true;
  for (int good = 0; struck; ++good) {
    auto store = Begin();
    disk_->CutPowerAfter(good);
    const bool finished = WriteSnapshot(*store, 1, 2, 2).ok();
    store.reset();
    struck = disk_->struck();
    disk_->RestorePower();
    store = MustOpen(directory_, env_.get());
    ExpectSnapshot(*store, 1, 1, 1);
    const auto snapshots = *store->ListSnapshots(1);
    EXPECT_GE(snapshots.size(), finished ? 2u : 1u) << good;
    if (snapshots.size() > 1) ExpectSnapshot(*store, 1, 2, 2);
  }
}

TEST_F(SnapshotStoreFaultTest, TheClusterIsKnownAfterAPowerFailureIfItsWriteWasAcknowledged) {
  bool struck = true;
  for (int good = 0; struck; ++good) {
    auto store = Begin();
    ASSERT_TRUE(store->BelongTo(7).ok());
    disk_->CutPowerAfter(good);
    const bool changed = store->BelongTo(8).ok();
    store.reset();
    struck = disk_->struck();
    disk_->RestorePower();
    const uint64_t cluster = MustOpen(directory_, env_.get())->cluster_id();
    EXPECT_TRUE(cluster == 8 || (cluster == 7 && !changed)) << cluster << " after " << good;
  }
}

}  // namespace
}  // namespace cairn::storage
