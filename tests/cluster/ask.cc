#include "tests/cluster/ask.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cluster/frame.h"
#include "cluster/rpc_channel.h"
#include "gtest/gtest.h"

namespace cairn::testing {
namespace {

using cluster::CreateChannel;
using cluster::Frame;

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  return Frame(std::make_shared<grpc::ByteBuffer>(buffer)).ToBytes();
}

// Waits for the only operation of the queue.
bool Done(grpc::CompletionQueue* queue) {
  void* tag;
  bool ok;
  return queue->Next(&tag, &ok) && ok;
}

}  // namespace

std::string Ask(int port, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(CreateChannel(absl::StrCat("127.0.0.1:", port)));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
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

}  // namespace cairn::testing
