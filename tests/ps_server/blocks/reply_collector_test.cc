#include "ps_server/blocks/reply_collector.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace cairn::ps {
namespace {

TEST(ReplyCollector, HandsOnAllRepliesInOrderOnceTheLastIsThere) {
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

}  // namespace
}  // namespace cairn::ps
