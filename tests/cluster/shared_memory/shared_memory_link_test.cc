#include "cluster/shared_memory/shared_memory_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cluster/shared_memory/shared_memory_host.h"
#include "tests/common/free_port.h"

namespace cairn::cluster {
namespace {

// Reached only if the test fails.
constexpr absl::Duration kPatience = absl::Seconds(60);

int Port() {
  static const int port = testing::FreePort();
  return port;
}

std::shared_ptr<SharedArena> WaitForArena(SharedMemoryLink* link) {
  const absl::Time deadline = absl::Now() + kPatience;
  std::shared_ptr<SharedArena> arena;
  while ((arena = link->arena()) == nullptr && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  return arena;
}

TEST(SharedMemoryLinkTest, TheServerKnowsTheArenasMemory) {
  const auto host = *SharedMemoryHost::Start(Port());
  SharedMemoryLink link("some.name:" + std::to_string(Port()));
  const auto arena = WaitForArena(&link);
  ASSERT_NE(arena, nullptr);
  EXPECT_EQ(link.arena(), arena);
  const auto found = host->Find(arena->memory()->token());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->bytes(), SharedMemoryLink::kBytes);
  const auto part = arena->Allocate(1);
  *part->data() = 5;
  EXPECT_EQ(found->data()[part->offset], 5);
}

TEST(SharedMemoryLinkTest, WithoutAServerThereIsNoMemory) {
  for (const std::string& address : {"127.0.0.1:" + std::to_string(Port()), std::string("bad")}) {
    SharedMemoryLink link(address);
    EXPECT_EQ(link.arena(), nullptr);
    EXPECT_EQ(link.arena(), nullptr);
  }
}

TEST(SharedMemoryLinkTest, AServerThatStartsLaterIsFound) {
  SharedMemoryLink link("127.0.0.1:" + std::to_string(Port()));
  EXPECT_EQ(link.arena(), nullptr);
  const auto host = *SharedMemoryHost::Start(Port());
  EXPECT_NE(WaitForArena(&link), nullptr);
}

TEST(SharedMemoryLinkTest, DroppedMemoryIsReplaced) {
  const auto host = *SharedMemoryHost::Start(Port());
  SharedMemoryLink link("127.0.0.1:" + std::to_string(Port()));
  const auto first = WaitForArena(&link);
  ASSERT_NE(first, nullptr);
  link.Drop(first);
  EXPECT_EQ(link.arena(), nullptr);
  const auto second = WaitForArena(&link);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second, first);
  EXPECT_NE(second->memory()->token(), first->memory()->token());
  link.Drop(first);  // Already replaced: must not drop the second.
  EXPECT_EQ(link.arena(), second);
}

}  // namespace
}  // namespace cairn::cluster
