#include "common/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace cairn {
namespace {

TEST(MutexTest, ExcludesOtherThreads) {
  Mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        MutexLock lock(&mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 40'000);
}

TEST(ConditionVariableTest, WaitReleasesTheMutexAndReacquiresIt) {
  Mutex mutex;
  ConditionVariable changed;
  int turn = 0;
  std::thread other([&] {
    MutexLock lock(&mutex);
    while (turn != 1) changed.Wait(&mutex);
    turn = 2;
    changed.NotifyAll();
  });
  {
    MutexLock lock(&mutex);
    turn = 1;
    changed.NotifyAll();
    while (turn != 2) changed.Wait(&mutex);
  }
  other.join();
  EXPECT_EQ(turn, 2);
}

TEST(ConditionVariableTest, WaitForTimesOutWithTheMutexHeld) {
  Mutex mutex;
  ConditionVariable never;
  MutexLock lock(&mutex);
  while (never.WaitFor(&mutex, std::chrono::milliseconds(1))) {
  }
  bool entered = false;
  std::thread other([&] {
    MutexLock inner(&mutex);
    entered = true;
  });
  EXPECT_FALSE(entered);
  mutex.Unlock();
  other.join();
  mutex.Lock();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace cairn
