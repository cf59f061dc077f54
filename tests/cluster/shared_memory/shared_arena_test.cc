#include "cluster/shared_memory/shared_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace cairn::cluster {
namespace {

std::shared_ptr<SharedArena> ArenaOf(size_t bytes) {
  return std::make_shared<SharedArena>(*SharedMemory::Create(1, bytes));
}

TEST(SharedArenaTest, AllocatesTheLowestPartThatIsLargeEnough) {
  const auto arena = ArenaOf(1024);
  auto first = arena->Allocate(100);
  auto second = arena->Allocate(64);
  EXPECT_EQ(first->offset, 0u);
  EXPECT_EQ(first->bytes, 100u);
  EXPECT_EQ(second->offset, 128u);
  first.reset();
  EXPECT_EQ(arena->Allocate(129)->offset, 192u);
  EXPECT_EQ(arena->Allocate(128)->offset, 0u);
}

TEST(SharedArenaTest, ReturnsNullIfNothingFits) {
  const auto arena = ArenaOf(1024);
  EXPECT_EQ(arena->Allocate(0), nullptr);
  EXPECT_EQ(arena->Allocate(1025), nullptr);
  EXPECT_EQ(arena->Allocate(~size_t{0}), nullptr);
  const auto all = arena->Allocate(1024);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(arena->Allocate(1), nullptr);
}

TEST(SharedArenaTest, AnIncompleteLastUnitIsNotAllocated) {
  const auto arena = ArenaOf(1000);
  EXPECT_EQ(arena->Allocate(961), nullptr);
  EXPECT_NE(arena->Allocate(960), nullptr);
}

TEST(SharedArenaTest, PartsFreedInAnyOrderAreMerged) {
  std::mt19937 random(1);
  const auto arena = ArenaOf(64 * 64);
  for (int round = 0; round < 200; ++round) {
    std::vector<SharedArena::Allocation> parts;
    std::vector<bool> taken(64);
    while (auto part = arena->Allocate(1 + random() % 300)) {
      EXPECT_TRUE(part->IsInside());
      for (uint64_t at = part->offset; at < part->offset + part->bytes; at += 64) {
        EXPECT_FALSE(taken[at / 64]);
        taken[at / 64] = true;
      }
      parts.push_back(std::move(part));
    }
    std::shuffle(parts.begin(), parts.end(), random);
    parts.clear();
    EXPECT_NE(arena->Allocate(64 * 64), nullptr);
  }
}

TEST(SharedArenaTest, AllocatedPartsKeepArenaAndMemory) {
  auto arena = ArenaOf(1024);
  const std::weak_ptr<SharedMemory> memory = arena->memory();
  auto part = arena->Allocate(10);
  arena.reset();
  part->data()[9] = 1;
  EXPECT_FALSE(memory.expired());
  part.reset();
  EXPECT_TRUE(memory.expired());
}

TEST(SharedArenaTest, ConcurrentPartsNeverOverlap) {
  const auto arena = ArenaOf(64 * 8);
  std::vector<std::thread> threads;
  for (uint8_t name = 1; name <= 4; ++name) {
    threads.emplace_back([&arena, name] {
      for (int round = 0; round < 2000; ++round) {
        const auto part = arena->Allocate(64);
        if (part == nullptr) continue;
        *part->data() = name;
        std::this_thread::yield();
        EXPECT_EQ(*part->data(), name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(arena->Allocate(64 * 8), nullptr);
}

}  // namespace
}  // namespace cairn::cluster
