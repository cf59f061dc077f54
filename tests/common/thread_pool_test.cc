#include "common/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "tests/common/no_more_threads.h"

namespace cairn {
namespace {

TEST(ThreadPoolTest, AllTasksHaveRunWhenThePoolIsGone) {
  std::atomic<int> sum = 0;
  {
    ThreadPool pool(3, "adders", 2);
    for (int i = 1; i <= 1000; ++i) pool.Submit([&sum, i] { sum += i; });
  }
  EXPECT_EQ(sum, 500500);
}

TEST(ThreadPoolTest, BackgroundThreadsHaveALowerPriority) {
  const auto niceness = [](ThreadPool::Priority priority) {
    int found = 0;
    ThreadPool(1, "one", 1, priority).Submit([&found] { found = getpriority(PRIO_PROCESS, 0); });
    return found;
  };
  const int ours = getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(niceness(ThreadPool::Priority::kNormal), ours);
  EXPECT_EQ(niceness(ThreadPool::Priority::kBackground), std::min(ours + 15, 19));
}

TEST(ThreadPoolTest, OneThreadKeepsTheOrder) {
  std::vector<int> order;
  {
    ThreadPool pool(1, "one", 4);
    for (int i = 0; i < 100; ++i) pool.Submit([&order, i] { order.push_back(i); });
  }
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(ThreadPoolTest, TasksRunAtTheSameTime) {
  std::latch both(2);
  ThreadPool pool(2, "pair", 2);
  for (int i = 0; i < 2; ++i) pool.Submit([&both] { both.arrive_and_wait(); });
}

TEST(ThreadPoolTest, AFailureToStartAThreadJoinsTheOthers) {
  const testing::NoMoreThreads none;
  EXPECT_THROW(ThreadPool(4, "many", 1), std::system_error);
}

TEST(ThreadPoolTest, TrySubmitToAFullPoolLeavesTheTaskUnchanged) {
  std::latch started(1), release(1);
  std::atomic<int> ran = 0;
  {
    ThreadPool pool(1, "busy", 1);
    pool.Submit([&] {
      started.count_down();
      release.wait();
    });
    started.wait();
    pool.Submit([&ran] { ++ran; });
    ThreadPool::Task refused = [&ran, owned = std::make_unique<int>(10)] { ran += *owned; };
    EXPECT_FALSE(pool.TrySubmit(std::move(refused)));
    release.count_down();
    refused();
  }
  EXPECT_EQ(ran, 11);
}

TEST(ThreadPoolTest, ThreadsHaveThePoolsNameTruncated) {
  std::string name;
  std::latch named(1);
  {
    ThreadPool pool(1, "a_name_that_is_too_long", 1);
    pool.Submit([&] {
      named.wait();
      char text[16];
      pthread_getname_np(pthread_self(), text, sizeof(text));
      name = text;
    });
    named.count_down();  // The constructor, which names the threads, has returned.
  }
  EXPECT_EQ(name, "a_name_that_is_");
}

}  // namespace
}  // namespace cairn
