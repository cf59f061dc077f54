#include "cluster/control_server.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "cluster/rpc_channel.h"
#include "cluster/tensor_codec.h"
#include "proto/coordinator.grpc.pb.h"

namespace cairn::cluster {
namespace {

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  return Frame(std::make_shared<grpc::ByteBuffer>(buffer)).ToBytes();
}

// Waits for the one operation of the queue.
bool Done(grpc::CompletionQueue* queue) {
  void* tag;
  bool ok;
  return queue->Next(&tag, &ok) && ok;
}

// The first answer of a method to `request`, both as bytes of protobuf's wire format.
std::string Ask(int port, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(CreateChannel(absl::StrCat("127.0.0.1:", port)));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(Done(&queue));
  call->WriteLast(*Frame::FromBytes(request).buffer(), grpc::WriteOptions(), nullptr);
  EXPECT_TRUE(Done(&queue));
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  EXPECT_TRUE(Done(&queue));
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(Done(&queue));
  EXPECT_TRUE(status.ok()) << status.error_message();
  return BytesOf(answer);
}

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

TEST(ControlServerTest, PortInUseIsSaidSo) {
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
