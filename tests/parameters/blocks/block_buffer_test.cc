#include "parameters/blocks/block_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

namespace cairn::parameters {
namespace {

TEST(BlockBuffer, IsUniqueWithoutOtherReferences) {
  BufferPool pool;
  BlockBuffer buffer = pool.Allocate(5);
  EXPECT_TRUE(buffer.unique());
  {
    const BlockBuffer other = buffer;
    EXPECT_EQ(other.data(), buffer.data());
    EXPECT_FALSE(buffer.unique());
  }
  EXPECT_TRUE(buffer.unique());
  const BlockBuffer moved = std::move(buffer);
  EXPECT_TRUE(moved.unique());
  EXPECT_EQ(moved.count(), 5);
}

TEST(BlockBuffer, IsAligned) {
  BufferPool pool;
  for (const int64_t count : {1, 3, 16, 1000}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.Allocate(count).data()) % 64, 0u);
  }
}

TEST(BufferPool, ReusesABufferAfterItsLastReference) {
  BufferPool pool;
  BlockBuffer first = pool.Allocate(100);
  const float* const memory = first.data();
  BlockBuffer second = first;
  first = BlockBuffer();
  EXPECT_EQ(pool.unused_bytes(), 0);
  second = BlockBuffer();
  EXPECT_EQ(pool.unused_bytes(), 400);
  EXPECT_NE(pool.Allocate(101).data(), memory);
  EXPECT_EQ(pool.Allocate(100).data(), memory);
  pool.Trim();
  EXPECT_EQ(pool.unused_bytes(), 0);
}

TEST(BufferPool, ReturnsNullForTooLargeBuffers) {
  BufferPool pool;
  EXPECT_FALSE(pool.Allocate(std::numeric_limits<int64_t>::max()));
  EXPECT_FALSE(pool.Allocate(int64_t{1} << 55));
}

TEST(BufferPool, BuffersMayOutliveThePool) {
  std::optional<BufferPool> pool(std::in_place);
  BlockBuffer buffer = pool->Allocate(10);
  pool.reset();
  buffer.data()[9] = 1;
  EXPECT_EQ(buffer.data()[9], 1);
}

TEST(BlockBuffer, ReferencesMayBeDroppedOnAnyThread) {
  BufferPool pool;
  for (int round = 0; round < 200; ++round) {
    BlockBuffer buffer = pool.Allocate(8);
    std::thread reader([copy = buffer] { EXPECT_GE(copy.data()[0], copy.data()[0] - 1); });
    while (!buffer.unique()) std::this_thread::yield();
    buffer.data()[0] = static_cast<float>(round);
    reader.join();
  }
}

}  // namespace
}  // namespace cairn::parameters
