#include "cluster/shared_memory/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace cairn::cluster {
namespace {

// A memfd that the test creates.
int MemoryFile(off_t bytes, int seals) {
  const int descriptor = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(ftruncate(descriptor, bytes), 0);
  EXPECT_EQ(fcntl(descriptor, F_ADD_SEALS, seals), 0);
  return descriptor;
}

TEST(SharedMemoryTest, BothMappingsHaveTheSameContents) {
  const auto ours = SharedMemory::Create(7, 10'000);
  ASSERT_TRUE(ours.ok()) << ours.status();
  const auto theirs = SharedMemory::Adopt(7, (*ours)->descriptor());
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  EXPECT_EQ((*theirs)->token(), 7u);
  EXPECT_EQ((*theirs)->bytes(), 10'000u);
  EXPECT_NE((*theirs)->data(), (*ours)->data());
  (*ours)->data()[9'999] = 42;
  EXPECT_EQ((*theirs)->data()[9'999], 42);
  (*theirs)->data()[0] = 43;
  EXPECT_EQ((*ours)->data()[0], 43);
}

TEST(SharedMemoryTest, OutlivesItsCreator) {
  auto ours = *SharedMemory::Create(7, 100);
  const auto theirs = *SharedMemory::Adopt(7, ours->descriptor());
  ours->data()[5] = 1;
  ours.reset();
  EXPECT_EQ(theirs->data()[5], 1);
}

TEST(SharedMemoryTest, TheSizeIsSealed) {
  const auto ours = *SharedMemory::Create(7, 10'000);
  EXPECT_NE(ftruncate(ours->descriptor(), 1), 0);
  EXPECT_NE(ftruncate(ours->descriptor(), 1 << 20), 0);
}

TEST(SharedMemoryTest, OtherDescriptorsAreRefused) {
  char path[] = "/tmp/shared_memory_test_XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  const int loose = MemoryFile(4096, 0);
  for (int descriptor : {file, loose, -1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SharedMemory::Adopt(7, descriptor).status()));
  }
  close(file);
  close(loose);
}

TEST(SharedMemoryTest, EmptyAndTooLargeMemoryIsRefused) {
  const int empty = MemoryFile(0, F_SEAL_SHRINK);
  const int huge = MemoryFile(SharedMemory::kBytesMax + 1, F_SEAL_SHRINK);
  EXPECT_TRUE(absl::IsInvalidArgument(SharedMemory::Adopt(7, empty).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(SharedMemory::Adopt(7, huge).status()));
  close(empty);
  close(huge);
}

TEST(SharedMemoryTest, SpansOutsideOfTheMemoryAreDetected) {
  const auto memory = *SharedMemory::Create(7, 100);
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  EXPECT_TRUE((SharedSpan{memory, 0, 100}.IsInside()));
  EXPECT_TRUE((SharedSpan{memory, 100, 0}.IsInside()));
  EXPECT_FALSE((SharedSpan{memory, 1, 100}.IsInside()));
  EXPECT_FALSE((SharedSpan{memory, 101, 0}.IsInside()));
  EXPECT_FALSE((SharedSpan{memory, kHuge, 1}.IsInside()));
  EXPECT_FALSE((SharedSpan{memory, 1, kHuge}.IsInside()));
  EXPECT_FALSE((SharedSpan{memory, kHuge, kHuge}.IsInside()));
  EXPECT_FALSE(SharedSpan().IsInside());
}

}  // namespace
}  // namespace cairn::cluster
