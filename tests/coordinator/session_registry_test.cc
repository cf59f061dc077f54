#include "coordinator/session_registry.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/coordinator/recording_stream.h"

namespace cairn::coordinator {
namespace {

TEST(SessionRegistryTest, CommandsReachTheirStreamOnly) {
  SessionRegistry registry;
  auto a = std::make_shared<RecordingStream>();
  auto b = std::make_shared<RecordingStream>();
  registry.Add(a);
  const uint64_t session = registry.Add(b);
  registry.Send(session, proto::Command());
  registry.Close(session);
  EXPECT_TRUE(a->commands().empty());
  EXPECT_EQ(b->commands().size(), 1u);
  EXPECT_EQ(b->closed(), 1);
}

TEST(SessionRegistryTest, NumbersAreNotReusedAndCommandsToEndedSessionsAreDropped) {
  SessionRegistry registry;
  auto stream = std::make_shared<RecordingStream>();
  const uint64_t first = registry.Add(stream);
  registry.Remove(first);
  registry.Remove(first);
  EXPECT_NE(registry.Add(stream), first);
  registry.Send(first, proto::Command());
  EXPECT_TRUE(stream->commands().empty());
}

}  // namespace
}  // namespace cairn::coordinator
