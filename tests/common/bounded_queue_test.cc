#include "common/bounded_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace cairn {
namespace {

TEST(BoundedQueueTest, ItemsComeOutInTheOrderTheyWentIn) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.TryPush(i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(), i);
}

TEST(BoundedQueueTest, TryPushToAFullQueueLeavesTheItemUnchanged) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  ASSERT_TRUE(queue.TryPush(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.TryPush(std::move(second)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(**queue.Pop(), 1);
  EXPECT_TRUE(queue.TryPush(std::move(second)));
}

TEST(BoundedQueueTest, PushBeyondCapacityFailsOnlyWhenClosed) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.PushBeyondCapacity(1));
  EXPECT_TRUE(queue.PushBeyondCapacity(2));
  EXPECT_FALSE(queue.TryPush(3));
  EXPECT_EQ(queue.Pop(), 1);
  queue.Close();
  EXPECT_FALSE(queue.PushBeyondCapacity(4));
  EXPECT_EQ(queue.Pop(), 2);
}

TEST(BoundedQueueTest, PopTimesOut) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.Pop(absl::ZeroDuration()), std::nullopt);
  EXPECT_EQ(queue.Pop(absl::Milliseconds(1)), std::nullopt);
  EXPECT_FALSE(queue.closed());
}

TEST(BoundedQueueTest, AClosedQueueCanBeDrainedButNotFilled) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.TryPush(7));
  queue.Close();
  queue.Close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.TryPush(8));
  EXPECT_FALSE(queue.Push(9));
  EXPECT_EQ(queue.Pop(), 7);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, CloseWakesBlockedThreads) {
  BoundedQueue<int> empty(1), full(1);
  ASSERT_TRUE(full.TryPush(1));
  std::optional<int> popped;
  bool pushed = true;
  std::thread consumer([&] { popped = empty.Pop(); });
  std::thread producer([&] { pushed = full.Push(2); });
  empty.Close();
  full.Close();
  consumer.join();
  producer.join();
  EXPECT_EQ(popped, std::nullopt);
  EXPECT_FALSE(pushed);
  EXPECT_EQ(full.size(), 1u);
}

TEST(BoundedQueueTest, NoItemIsLostOrRepeatedWithManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kItemsEach = 5000;
  BoundedQueue<int> queue(7);
  std::vector<std::vector<int>> got(kThreads);
  std::vector<std::thread> producers, consumers;
  for (int t = 0; t < kThreads; ++t) {
    producers.emplace_back([&queue, t] {
      for (int i = 0; i < kItemsEach; ++i) queue.Push(t * kItemsEach + i);
    });
    consumers.emplace_back([&queue, &got, t] {
      while (std::optional<int> item = queue.Pop()) got[t].push_back(*item);
    });
  }
  for (std::thread& thread : producers) thread.join();
  queue.Close();
  for (std::thread& thread : consumers) thread.join();
  std::vector<int> seen(kThreads * kItemsEach, 0);
  for (const auto& items : got) {
    for (int item : items) ++seen[item];
  }
  EXPECT_EQ(seen, std::vector<int>(kThreads * kItemsEach, 1));
}

}  // namespace
}  // namespace cairn
