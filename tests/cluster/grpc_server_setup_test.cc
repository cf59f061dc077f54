#include "cluster/grpc_server_setup.h"

#include <grpcpp/server.h>
#include <gtest/gtest.h>

namespace cairn::cluster {
namespace {

TEST(GrpcServerSetupTest, FreePortIsFoundAndTold) {
  GrpcServerSetup setup("127.0.0.1:0");
  auto server = setup.Build();
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_GT(setup.port(), 0);
}

TEST(GrpcServerSetupTest, WrongAddressesAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(GrpcServerSetup("127.0.0.1").Build().status()));
  EXPECT_TRUE(absl::IsUnavailable(GrpcServerSetup("no-such-host.invalid:1").Build().status()));
}

TEST(GrpcServerSetupTest, Ipv6LoopbackIsServed) {
  GrpcServerSetup setup("[::1]:0");
  auto server = setup.Build();
  if (!server.ok()) GTEST_SKIP() << "no IPv6 here: " << server.status();
  EXPECT_GT(setup.port(), 0);
}

}  // namespace
}  // namespace cairn::cluster
