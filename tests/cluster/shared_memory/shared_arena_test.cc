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
  auto first = arena->Borrow(100);
  auto second = arena->Borrow(64);
  EXPECT_EQ(first->offset, 0u);
  EXPECT_EQ(first->bytes, 100u);
  EXPECT_EQ(second->offset, 128u);
  first.reset();
  EXPECT_EQ(arena->Borrow(129)->offset, 192u);
  EXPECT_EQ(arena->Borrow(128)->offset, 0u);
}

TEST(SharedArenaTest, ReturnsNullIfNothingFits) {
  const auto arena = ArenaOf(1024);
  EXPECT_EQ(arena->Borrow(0), nullptr);
  EXPECT_EQ(arena->Borrow(1025), nullptr);
  EXPECT_EQ(arena->Borrow(~size_t{0}), nullptr);
  const auto all = arena->Borrow(1024);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(arena->Borrow(1), nullptr);
}

TEST(SharedArenaTest, AnIncompleteLastUnitIsNotAllocated) {
  const auto arena = ArenaOf(1000);
  EXPECT_EQ(arena->Borrow(961), nullptr);
  EXPECT_NE(arena->Borrow(960), nullptr);
}

TEST(SharedArenaTest, PartsFreedInAnyOrderAreMerged) {
  std::mt19937 random(1);
  const auto arena = ArenaOf(64 * 64);
  for (int round = 0; round < 200; ++round) {
    std::vector<SharedArena::Loan> loans;
    std::vector<bool> taken(64);
    while (auto loan = arena->Borrow(1 + random() % 300)) {
      EXPECT_TRUE(loan->IsInside());
      for (uint64_t at = loan->offset; at < loan->offset + loan->bytes; at += 64) {
        EXPECT_FALSE(taken[at / 64]);
        taken[at / 64] = true;
      }
      loans.push_back(std::move(loan));
    }
    std::shuffle(loans.begin(), loans.end(), random);
    loans.clear();
    EXPECT_NE(arena->Borrow(64 * 64), nullptr);
  }
}

TEST(SharedArenaTest, AllocatedPartsKeepArenaAndMemory) {
  auto arena = ArenaOf(1024);
  const std::weak_ptr<SharedMemory> memory = arena->memory();
  auto loan = arena->Borrow(10);
  arena.reset();
  loan->data()[9] = 1;
  EXPECT_FALSE(memory.expired());
  loan.reset();
  EXPECT_TRUE(memory.expired());
}

TEST(SharedArenaTest, ConcurrentPartsNeverOverlap) {
  const auto arena = ArenaOf(64 * 8);
  std::vector<std::thread> threads;
  for (uint8_t name = 1; name <= 4; ++name) {
    threads.emplace_back([&arena, name] {
      for (int round = 0; round < 2000; ++round) {
        const auto loan = arena->Borrow(64);
        if (loan == nullptr) continue;
        *loan->data() = name;
        std::this_thread::yield();
        EXPECT_EQ(*loan->data(), name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(arena->Borrow(64 * 8), nullptr);
}

}  // namespace
}  // namespace cairn::cluster
