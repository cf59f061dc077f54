#include "worker/data/files/data_storage.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

TEST(DataStorageTest, MemoryIsGivenUntilItsLimitAndAgainWhenItCameBack) {
  DataStorage storage({.memory_bytes = 100});
  EXPECT_TRUE(storage.TakeMemory(60));
  EXPECT_FALSE(storage.TakeMemory(41));
  EXPECT_TRUE(storage.TakeMemory(40));
  EXPECT_FALSE(storage.TakeMemory(1));
  storage.ReturnMemory(60);
  EXPECT_TRUE(storage.TakeMemory(60));
  EXPECT_FALSE(storage.TakeMemory(~uint64_t{0}));
}

TEST(DataStorageTest, SpareMemoryLeavesAnEighth) {
  DataStorage storage({.memory_bytes = 80});
  EXPECT_TRUE(storage.TakeSpareMemory(60));
  EXPECT_FALSE(storage.TakeSpareMemory(11));
  EXPECT_TRUE(storage.TakeSpareMemory(10));
  EXPECT_TRUE(storage.TakeMemory(10));
  EXPECT_FALSE(storage.TakeMemory(1));
}

TEST(DataStorageTest, TheSpoolHasALimitThatNamesTheFile) {
  DataStorage storage({.spool_bytes = 3 << 20});
  EXPECT_TRUE(storage.TakeSpool(3 << 20, "a.gz").ok());
  const absl::Status full = storage.TakeSpool(1, "b.gz");
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), ::testing::HasSubstr("data file b.gz"));
  EXPECT_THAT(std::string(full.message()), ::testing::HasSubstr("3 MiB"));
}

}  // namespace
}  // namespace cairn::worker
