#include "parameters/blocks/reply_collector.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace cairn::parameters {
namespace {

TEST(ReplyCollector, PassesOnAllRepliesInOrderAfterTheLast) {
  for (int round = 0; round < 100; ++round) {
    std::vector<BlockReply> result;
    int calls = 0;
    ReplyCollector* const collector =
        ReplyCollector::Create(4, [&](std::vector<BlockReply> replies) {
          ++calls;
          result = std::move(replies);
        });
    std::vector<std::thread> threads;
    for (size_t i = 4; i-- > 0;) {
      threads.emplace_back([callback = collector->CallbackFor(i), i]() mutable {
        BlockReply reply;
        reply.version = static_cast<int64_t>(i);
        callback(std::move(reply));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(calls, 1);
    ASSERT_EQ(result.size(), 4u);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(result[i].version, static_cast<int64_t>(i));
  }
}

// One block refuses, another one keeps its answer: the error is not kept with it.
TEST(ReplyCollector, HandsOnTheFirstErrorAtOnceWhereThatIsAskedFor) {
  std::vector<std::vector<BlockReply>> results;
  ReplyCollector* const collector = ReplyCollector::Create(
      3, [&](std::vector<BlockReply> replies) { results.push_back(std::move(replies)); },
      ReplyCollector::OnError::kAnswerAtOnce);
  std::vector<BlockCallback> callbacks;
  for (size_t i = 0; i < 3; ++i) callbacks.push_back(collector->CallbackFor(i));
  const auto error = [](absl::StatusCode code) {
    BlockReply reply;
    reply.status = absl::Status(code, "refused");
    return reply;
  };
  callbacks[0](BlockReply());
  EXPECT_TRUE(results.empty());
  callbacks[1](error(absl::StatusCode::kResourceExhausted));
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].size(), 1u);
  EXPECT_EQ(results[0][0].status.code(), absl::StatusCode::kResourceExhausted);
  callbacks[2](error(absl::StatusCode::kInternal));
  EXPECT_EQ(results.size(), 1u);
}

}  // namespace
}  // namespace cairn::parameters
