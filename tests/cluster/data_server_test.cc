#include "cluster/data_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "cluster/ps_client.h"
#include "tests/cluster/rpc_fixture.h"

namespace cairn::cluster {
namespace {

using PullResult = absl::StatusOr<proto::PullReplyHeader>;

PsClientOptions ClientOf(const DataServer& server) {
  PsClientOptions options;
  options.addresses = {AddressOf(server)};
  return options;
}

Frame EmptyReply() { return *EncodeFrame(proto::PullReplyHeader(), {}); }

TEST(DataServerTest, APortInUseIsAlreadyExists) {
  CallBox calls;
  auto server = StartServer(&calls);
  DataServerOptions options;
  options.address = AddressOf(*server);
  auto second = DataServer::Start(options, [](std::unique_ptr<RawCall>) {});
  EXPECT_EQ(second.status(),
            absl::AlreadyExistsError(
                absl::StrCat("cannot listen on ", AddressOf(*server),
                             ": another process uses the port; stop it or choose another port")));
}

TEST(DataServerTest, AddressOfAnotherMachineIsUnavailable) {
  DataServerOptions options;
  options.address = "192.0.2.1:1234";  // TEST-NET-1 (RFC 5737), which no machine has.
  auto server = DataServer::Start(options, [](std::unique_ptr<RawCall>) {});
  EXPECT_TRUE(absl::IsUnavailable(server.status())) << server.status();
}

TEST(DataServerTest, BadOptionsAreRefused) {
  DataServerOptions options;
  options.address = "127.0.0.1";
  EXPECT_TRUE(absl::IsInvalidArgument(
      DataServer::Start(options, [](std::unique_ptr<RawCall>) {}).status()));
  options.address = "127.0.0.1:0";
  options.threads = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(
      DataServer::Start(options, [](std::unique_ptr<RawCall>) {}).status()));
}

TEST(DataServerTest, CallsBeyondTheLimitAreRefusedAndRetried) {
  CallBox calls;
  auto server = StartServer(&calls, testing::FreePort(), /*calls_max=*/2);
  Mailbox<PullResult> pulls;
  PsClient client(ClientOf(*server));
  for (int i = 0; i < 5; ++i) {
    client.Pull(0, {}, {}, [&](PullResult result) { pulls.Put(std::move(result)); });
  }
  auto first = calls.Take();
  auto second = calls.Take();
  EXPECT_TRUE(calls.empty());
  first->Reply(EmptyReply());
  second->Reply(EmptyReply());
  for (int i = 0; i < 3; ++i) calls.Take()->Reply(EmptyReply());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pulls.Take().ok());
}

TEST(DataServerTest, PushesAreNotLimitedByWaitingCalls) {
  CallBox calls;
  auto server = StartServer(&calls, 0, /*calls_max=*/2);
  Mailbox<PullResult> pulls;
  Mailbox<bool> pushes;
  PsClient client(ClientOf(*server));
  for (int i = 0; i < 2; ++i) {
    client.Pull(0, {}, {}, [&](PullResult result) { pulls.Put(std::move(result)); });
  }
  auto first = calls.Take();
  auto second = calls.Take();
  for (int i = 0; i < 3; ++i) {
    client.Push(0, {}, {}, {}, [&](auto result) { pushes.Put(result.ok()); });
  }
  for (int i = 0; i < 3; ++i) {
    auto push = calls.Take();
    EXPECT_EQ(push->method(), DataMethod::kPush);
    push->Reply(EmptyReply());
    EXPECT_TRUE(pushes.Take());
  }
  first->Reply(EmptyReply());
  second->Reply(EmptyReply());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pulls.Take().ok());
}

TEST(DataServerTest, ShutdownAnswersParkedCallsAndIgnoresLateReplies) {
  CallBox calls;
  auto server = StartServer(&calls);
  Mailbox<PullResult> pulls;
  PsClient client(ClientOf(*server));
  client.Pull(0, {}, {}, [&](PullResult result) { pulls.Put(std::move(result)); });
  client.Pull(0, {}, {}, [&](PullResult result) { pulls.Put(std::move(result)); });
  auto replied_late = calls.Take();
  auto dropped_late = calls.Take();
  server->Shutdown();
  EXPECT_EQ(server->calls_in_progress(), 0);
  server->Shutdown();
  replied_late->Reply(EmptyReply());
  server.reset();
  dropped_late.reset();
  client.CancelAll();
  EXPECT_TRUE(absl::IsCancelled(pulls.Take().status()));
  EXPECT_TRUE(absl::IsCancelled(pulls.Take().status()));
}

TEST(DataServerTest, ConcurrentRepliesDuringShutdownAreSafe) {
  for (int round = 0; round < 5; ++round) {
    CallBox calls;
    auto server = StartServer(&calls);
    std::atomic<int> answered = 0;
    auto client = std::make_unique<PsClient>(ClientOf(*server));
    for (int i = 0; i < 200; ++i) client->Pull(0, {}, {}, [&](PullResult) { ++answered; });
    std::vector<std::unique_ptr<RawCall>> parked;
    for (int i = 0; i < 200; ++i) parked.push_back(calls.Take());
    std::thread replier([&] {
      for (auto& call : parked) call->Reply(EmptyReply());
    });
    server->Shutdown();
    replier.join();
    server.reset();
    client.reset();
    EXPECT_EQ(answered, 200) << "each call has its end, once";
  }
}

TEST(DataServerTest, ShutdownWaitsForTheHandlerOfACallInThisProcess) {
  std::atomic<bool> entered = false, may_leave = false, left = false;
  DataServerOptions options;
  options.address = "127.0.0.1:0";
  auto server = DataServer::Start(options, [&](std::unique_ptr<RawCall> call) {
    entered = true;
    while (!may_leave) absl::SleepFor(absl::Milliseconds(1));
    left = true;
    call->Reply(EmptyReply());
  });
  ASSERT_TRUE(server.ok()) << server.status();
  const auto call = [&](std::atomic<int>* code) {
    (*server)->HandleInProcess(std::make_unique<RawCall>(
        DataMethod::kPull, Frame(), "this process", [code](absl::StatusOr<Frame> answer) {
          *code = static_cast<int>(answer.status().code());
        }));
  };
  std::atomic<int> first = -1, second = -1;
  std::thread caller([&] { call(&first); });
  while (!entered) absl::SleepFor(absl::Milliseconds(1));
  std::atomic<bool> is_down = false;
  std::thread stopper([&] {
    (*server)->Shutdown(absl::ZeroDuration());
    EXPECT_TRUE(left);
    is_down = true;
  });
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_FALSE(is_down);
  may_leave = true;
  stopper.join();
  caller.join();
  EXPECT_EQ(first, static_cast<int>(absl::StatusCode::kOk));
  call(&second);
  EXPECT_EQ(second, static_cast<int>(absl::StatusCode::kUnavailable));
}

TEST(DataServerTest, APingOfThisProcessIsAnsweredWithoutTheHandler) {
  CallBox calls;
  auto server = StartServer(&calls);
  Mailbox<absl::StatusCode> answers;
  server->HandleInProcess(std::make_unique<RawCall>(
      DataMethod::kPing, Frame(), "this process",
      [&](absl::StatusOr<Frame> answer) { answers.Put(answer.status().code()); }));
  EXPECT_EQ(answers.Take(), absl::StatusCode::kOk);
  EXPECT_TRUE(calls.empty());
}

}  // namespace
}  // namespace cairn::cluster
