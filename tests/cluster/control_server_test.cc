#include "cluster/control_server.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "proto/coordinator.grpc.pb.h"
#include "tests/cluster/ask.h"

namespace cairn::cluster {
namespace {

using cairn::testing::Ask;

TEST(ControlServerTest, HealthCheckIsAnsweredWithServing) {
  auto server = ControlServer::Start("127.0.0.1:0", {});
  ASSERT_TRUE(server.ok()) << server.status();
  // HealthCheckResponse{status: SERVING}: field 1, value 1.
  EXPECT_EQ(Ask((*server)->port(), "/grpc.health.v1.Health/Check", ""), "\x08\x01");
}

TEST(ControlServerTest, ReflectionListsTheServices) {
  proto::Coordinator::Service service;
  auto server = ControlServer::Start("127.0.0.1:0", {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  // ServerReflectionRequest{list_services: "*"}: field 7, one byte.
  const std::string answer =
      Ask((*server)->port(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
          "\x3a\x01*");
  EXPECT_NE(answer.find("cairn.proto.Coordinator"), std::string::npos);
}

TEST(ControlServerTest, APortInUseIsAlreadyExists) {
  auto server = ControlServer::Start("127.0.0.1:0", {});
  const std::string address = absl::StrCat("127.0.0.1:", (*server)->port());
  EXPECT_TRUE(absl::IsAlreadyExists(ControlServer::Start(address, {}).status()));
  (*server)->Shutdown();
  (*server)->Shutdown();
  auto next = ControlServer::Start(address, {});
  EXPECT_TRUE(next.ok()) << next.status();
}

}  // namespace
}  // namespace cairn::cluster
