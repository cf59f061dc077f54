#include "parameters/owner_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace cairn::parameters {
namespace {

TEST(OwnerThreads, TasksOfAThreadRunInOrder) {
  std::vector<int> order;
  std::set<std::thread::id> threads;
  {
    OwnerThreads owners(3, 1000);
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(owners.TryRun(1, [&, i] {
        order.push_back(i);
        threads.insert(std::this_thread::get_id());
      }));
    }
  }
  ASSERT_EQ(order.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(order[i], i);
  EXPECT_EQ(threads.size(), 1u);
}

TEST(OwnerThreads, RunOnAllRunsAfterEarlierTasks) {
  OwnerThreads owners(4, 1000);
  std::atomic<int> done = 0;
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(owners.TryRun(i % 4, [&] { ++done; }));
  std::atomic<int> visited = 0;
  owners.RunOnAll([&](int thread) { visited += 1 << thread; });
  EXPECT_EQ(done, 400);
  EXPECT_EQ(visited, 15);
}

TEST(OwnerThreads, TryRunFailsIfTheQueueIsFull) {
  std::latch works(1), go(1);
  OwnerThreads owners(1, 2);
  ASSERT_TRUE(owners.TryRun(0, [&] {
    works.count_down();
    go.wait();
  }));
  works.wait();
  while (owners.TryRun(0, [] {})) {
  }
  absl::AnyInvocable<void()> task = [] {};
  EXPECT_FALSE(owners.TryRun(0, std::move(task)));
  EXPECT_TRUE(task != nullptr);
  go.count_down();
}

}  // namespace
}  // namespace cairn::parameters
