#include "cluster/grpc_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cluster/ask.h"
#include "tests/cluster/connection.h"

namespace cairn::cluster {
namespace {

using cairn::testing::Ask;
using cairn::testing::Connection;

constexpr char kServing[] = "\x08\x01";  // HealthCheckResponse{status: SERVING}

std::string AskForHealth(const GrpcServer& server) {
  return Ask(server.port(), "/grpc.health.v1.Health/Check", "");
}

TEST(GrpcServerTest, PortZeroChoosesAFreePort) {
  GrpcServer server;
  ASSERT_TRUE(server.Start("127.0.0.1:0").ok());
  EXPECT_GT(server.port(), 0);
  EXPECT_EQ(AskForHealth(server), kServing);
  server.Shutdown(absl::ZeroDuration());
  server.Shutdown(absl::ZeroDuration());
}

TEST(GrpcServerTest, InvalidAddressesAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(GrpcServer().Start("127.0.0.1")));
  EXPECT_TRUE(absl::IsUnavailable(GrpcServer().Start("no-such-host.invalid:1")));
}

// CVE-2023-4785: gRPC's own listener would never accept again.
TEST(GrpcServerTest, ServesAgainAfterItWasOutOfFileDescriptors) {
#ifdef CAIRN_UNDEFINED_SANITIZER
  GTEST_SKIP() << "the sanitizer opens a pipe to see whether a pointer is valid";
#endif
  GrpcServer server;
  ASSERT_TRUE(server.Start("127.0.0.1:0").ok());
  EXPECT_EQ(AskForHealth(server), kServing);

  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {128, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Connection last;  // Already has its descriptor; connects when no other is free.
  std::vector<int> copies;
  for (int copy = dup(0); copy >= 0; copy = dup(0)) copies.push_back(copy);
  ASSERT_TRUE(last.ConnectTo(server.port()));
  EXPECT_FALSE(last.IsClosedByPeer()) << "it waits to be accepted";
  for (const int copy : copies) close(copy);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);

  EXPECT_EQ(AskForHealth(server), kServing);
}

}  // namespace
}  // namespace cairn::cluster
