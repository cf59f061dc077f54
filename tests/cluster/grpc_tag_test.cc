#include "cluster/grpc_tag.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace cairn::cluster {
namespace {

class CountingTag final : public GrpcTag {
 public:
  void OnEvent(bool ok) override { events += ok ? 1 : 0; }
  int events = 0;
};

TEST(GrpcTagTest, AReleasedTagIsReturnedOnTheQueuesThread) {
  grpc::CompletionQueue queue;
  CountingTag tag;
  grpc::Alarm alarm;
  alarm.Set(&queue, std::chrono::system_clock::now(), tag.Released());
  std::thread thread([&] {
    void* returned;
    bool ok;
    if (queue.Next(&returned, &ok)) GrpcTag::Acquired(returned)->OnEvent(ok);
  });
  thread.join();
  EXPECT_EQ(tag.events, 1);
  queue.Shutdown();
}

}  // namespace
}  // namespace cairn::cluster
