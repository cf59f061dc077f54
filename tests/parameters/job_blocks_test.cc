#include "parameters/job_blocks.h"

#include <gtest/gtest.h>

#include <latch>
#include <utility>
#include <vector>

#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

TEST(JobBlocks, AnswersInTheOrderOfTheRequestWhoeverOwnsTheBlocks) {
  for (const int threads : {1, 2, 5}) {
    TestStore test({}, 1, threads);
    Mailbox<std::vector<BlockReply>> box;
    test.store.current()->Pull(0, {5, 0, 3}, nullptr, [&](std::vector<BlockReply> replies) {
      box.Put(std::move(replies));
    });
    const std::vector<BlockReply> replies = box.Take();
    ASSERT_EQ(replies.size(), 3u);
    const std::vector<int> positions = {5, 0, 3};
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(replies[i].values.count(), test.layout->blocks()[positions[i]].count);
    }
  }
}

TEST(JobBlocks, WhatAnOwnerCannotTakeIsAnsweredAndTheRestIsDone) {
  TestJobOptions options;
  BufferPool pool;
  OwnerThreads owners(2, 1);
  const auto layout = MakeLayout(options);
  auto job = JobBlocks::Create(layout, {1, 0}, *MakeInitialStates(*layout, nullptr, &pool), &owners,
                               &pool, {});
  std::latch begun(1), go(1);
  ASSERT_TRUE(owners.TryRun(0, [&] {
    begun.count_down();
    go.wait();
  }));
  begun.wait();  // Otherwise the queue may be full of what its thread is about to take.
  while (owners.TryRun(0, [&] { go.wait(); })) {
  }
  Mailbox<std::vector<BlockReply>> box;
  job->Pull(0, {0, 1, 2, 3}, nullptr,
            [&](std::vector<BlockReply> replies) { box.Put(std::move(replies)); });
  int refused = 0, answered = 0;
  for (const BlockReply& reply : box.Take()) {
    refused += absl::IsResourceExhausted(reply.status);
    answered += reply.status.ok();
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(answered, 0);
  EXPECT_EQ(refused + answered, 4);
  go.count_down();
  job->Close(absl::UnavailableError("the test ends"));
}

TEST(JobBlocks, APullThatOneBlockRefusesWaitsForNoOtherAndGivesItsPlaceBackWhenAnswered) {
  TestJobOptions options;
  options.synchronous = true;
  options.batches_per_update = 2;
  TestStore test(options, 1, /*threads=*/3, {.waiting_pulls_max = 2});
  Mailbox<std::vector<BlockReply>> box;
  const auto pull = [&](int64_t batch) {
    test.store.current()->Pull(batch, {0, 1, 2, 3}, nullptr, [&](std::vector<BlockReply> replies) {
      box.Put(std::move(replies));
    });
  };
  pull(2);
  pull(3);
  // The owners take them in their order.
  for (int i = 0; i < 3; ++i) {
    pull(2);
    for (const BlockReply& reply : box.Take()) {
      EXPECT_EQ(reply.status.code(), absl::StatusCode::kResourceExhausted) << reply.status;
    }
  }
  pull(0);
  EXPECT_TRUE(box.Take().front().status.ok()) << "it need not wait";
  test.store.current()->Push(test.Pushes(0, -1), [](std::vector<BlockReply>) {});
  test.Push(1);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(box.Take().front().status.ok());
}

TEST(JobBlocks, ScalesGoToTheBlocksTheyAreFor) {
  TestJobOptions options;
  options.synchronous = true;
  options.batches_per_update = 2;
  options.global_clipnorm = 1;
  TestStore test(options, 1, /*threads=*/3);
  test.store.current()->Push(test.Pushes(0, -4), [](std::vector<BlockReply>) {});
  EXPECT_TRUE(test.Push(1, -4).front().square_sum.has_value());
  Mailbox<std::vector<BlockReply>> box;
  const int kernel = PositionOf(*test.layout, "hidden/kernel");
  const int bias = PositionOf(*test.layout, "hidden/bias");
  test.store.current()->ApplyUpdate(
      1, {{bias, 0.5f}, {kernel, 0.25f}},
      [&](std::vector<BlockReply> replies) { box.Put(std::move(replies)); });
  for (const BlockReply& reply : box.Take()) EXPECT_TRUE(reply.status.ok()) << reply.status;
  const std::vector<BlockState> states = test.store.current()->Capture();
  EXPECT_EQ(states[kernel].values.data()[0], 1);
  EXPECT_EQ(states[bias].values.data()[0], 2);
  EXPECT_EQ(test.store.Ledgers().applied_on_any().low_water(), 2);
  EXPECT_EQ(test.store.Ledgers().applied_on_all().low_water(), 0);
}

}  // namespace
}  // namespace cairn::parameters
