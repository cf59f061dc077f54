#include "cluster/task_session.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "cluster/control_server.h"
#include "common/mutex.h"
#include "common/version.h"
#include "proto/coordinator.grpc.pb.h"
#include "tests/cluster/rpc_fixture.h"
#include "tests/common/free_port.h"

namespace cairn::cluster {
namespace {

using ServerStream = grpc::ServerReaderWriter<proto::Command, proto::TaskMessage>;

// A coordinator that the test controls: it reports messages and sends commands on request.
class FakeCoordinator final : public proto::Coordinator::Service {
 public:
  grpc::Status Session(grpc::ServerContext* context, ServerStream* stream) override {
    proto::TaskMessage message;
    while (stream->Read(&message)) {
      if (message.has_join()) {  // Set before the test receives the message and answers it.
        MutexLock lock(&mutex_);
        stream_ = stream;
        context_ = context;
      }
      if (message.has_heartbeat()) {
        heartbeats.fetch_add(1);
      } else {
        heard.Put(message);
      }
    }
    MutexLock lock(&mutex_);
    if (stream_ == stream) stream_ = nullptr;
    return grpc::Status::OK;
  }

  // Sends to the newest stream. Returns false if there is none.
  bool Say(const proto::Command& command) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (absl::Now() < deadline) {
      {
        MutexLock lock(&mutex_);
        if (stream_ != nullptr) return stream_->Write(command);
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }

  void Break() {
    MutexLock lock(&mutex_);
    if (stream_ != nullptr) context_->TryCancel();
    stream_ = nullptr;
  }

  Mailbox<proto::TaskMessage> heard;
  std::atomic<int> heartbeats = 0;

 private:
  Mutex mutex_;
  ServerStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Records the calls of a handler, one line each.
class Recorder final : public SessionHandler {
 public:
  void OnWelcome(const proto::Welcome& welcome) override {
    lines.Put(absl::StrCat("welcome ", welcome.term()));
  }
  void OnCommand(const proto::Command& command) override {
    const std::string line = absl::StrCat("command ", command.ledger_query().query());
    lines.Put(line);
    if (during_command) during_command();
  }
  void OnDisconnected(const absl::Status& why) override {
    reasons.Put(why);
    lines.Put("disconnected");
  }
  void OnRefused(const proto::Refused& refused) override {
    lines.Put(absl::StrCat("refused ", refused.reason()));
  }

  Mailbox<std::string> lines;
  Mailbox<absl::Status> reasons;
  std::function<void()> during_command;
};

proto::Command Welcome(uint64_t term) {
  proto::Command command;
  command.mutable_welcome()->set_term(term);
  return command;
}

proto::Command Query(uint64_t number) {
  proto::Command command;
  command.mutable_ledger_query()->set_query(number);
  return command;
}

proto::Command Refuse(const std::string& reason, bool permanent) {
  proto::Command command;
  command.mutable_refused()->set_reason(reason);
  command.mutable_refused()->set_permanent(permanent);
  return command;
}

proto::TaskMessage Reply(uint64_t number) {
  proto::TaskMessage message;
  message.mutable_ledger()->set_query(number);
  return message;
}

class TaskSessionTest : public ::testing::Test {
 protected:
  TaskSessionTest() { StartCoordinator(testing::FreePort()); }
  ~TaskSessionTest() override {
    session_.reset();
    server_->Shutdown();
  }

  void StartCoordinator(int port) {
    coordinator_ = std::make_unique<FakeCoordinator>();
    auto server = ControlServer::Start(absl::StrCat("127.0.0.1:", port), {coordinator_.get()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  SessionOptions Options() {
    SessionOptions options;
    options.address = absl::StrCat("127.0.0.1:", server_->port());
    options.first_delay = absl::Milliseconds(5);
    options.max_delay = absl::Milliseconds(50);
    options.make_join = [this] {
      proto::Join join;
      join.set_role(proto::PS);
      join.set_index(++joins_);
      return join;
    };
    return options;
  }

  void StartSession(const SessionOptions& options) {
    session_ = std::make_unique<TaskSession>(options, &recorder_);
  }
  void StartSession() { StartSession(Options()); }

  // Returns the next Join and skips other messages.
  proto::Join NextJoin() {
    while (true) {
      const proto::TaskMessage message = coordinator_->heard.Take();
      if (message.has_join() || HasFailure()) return message.join();
    }
  }

  void Joined(uint64_t term = 1) {
    NextJoin();
    EXPECT_TRUE(coordinator_->Say(Welcome(term)));
    EXPECT_EQ(recorder_.lines.Take(), absl::StrCat("welcome ", term));
  }
  // Joins with this lease. The lease is set by Welcome, so that connecting on a busy machine does
  // not count.
  void JoinedForALease(absl::Duration lease) {
    NextJoin();
    proto::Command welcome = Welcome(1);
    welcome.mutable_welcome()->set_lease_milliseconds(absl::ToInt64Milliseconds(lease));
    EXPECT_TRUE(coordinator_->Say(welcome));
    EXPECT_EQ(recorder_.lines.Take(), "welcome 1");
  }

  std::atomic<int> joins_ = 0;
  std::unique_ptr<FakeCoordinator> coordinator_;
  std::unique_ptr<ControlServer> server_;
  Mailbox<int> go_on_;
  Recorder recorder_;
  std::unique_ptr<TaskSession> session_;
};

TEST_F(TaskSessionTest, TheFirstMessageIsTheJoin) {
  StartSession();
  const proto::Join join = NextJoin();
  EXPECT_EQ(join.role(), proto::PS);
  EXPECT_EQ(join.version(), kVersion);
  EXPECT_EQ(join.instance_id(), session_->instance_id());
  EXPECT_EQ(join.pid(), getpid());
  EXPECT_EQ(join.term_seen(), 0u);
}

TEST_F(TaskSessionTest, CommandsComeInOrderAndRepliesGoBackInOrder) {
  StartSession();
  Joined();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(coordinator_->Say(Query(i)));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(recorder_.lines.Take(), absl::StrCat("command ", i));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(session_->Send(Reply(i)));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(coordinator_->heard.Take().ledger().query(), i);
}

TEST_F(TaskSessionTest, InvalidUtf8IsEscapedAndTheStreamContinues) {
  StartSession();
  Joined();
  proto::TaskMessage message;
  message.mutable_inspected()->set_error(
      "column \"Gr\xf6\xdf"
      "e\"");
  ASSERT_TRUE(session_->Send(message));
  EXPECT_EQ(coordinator_->heard.Take().inspected().error(),
            "column \"Gr\\xf6\\xdf"
            "e\"");
  ASSERT_TRUE(session_->Send(Reply(1)));
  EXPECT_EQ(coordinator_->heard.Take().ledger().query(), 1u);
}

TEST_F(TaskSessionTest, NothingIsSentBeforeTheWelcome) {
  StartSession();
  NextJoin();
  EXPECT_FALSE(session_->Send(Reply(1)));
}

TEST_F(TaskSessionTest, HeartbeatsContinueWhileTheHandlerIsBusy) {
  SessionOptions options = Options();
  options.heartbeat = absl::Milliseconds(5);
  options.fill_heartbeat = [](proto::Heartbeat* heartbeat) { heartbeat->set_pulls(3); };
  recorder_.during_command = [&] {
    const int before = coordinator_->heartbeats;
    const absl::Time deadline = absl::Now() + kPatience;
    while (coordinator_->heartbeats < before + 5 && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    recorder_.lines.Put(coordinator_->heartbeats >= before + 5 ? "beat" : "no beat");
  };
  StartSession(options);
  Joined();
  ASSERT_TRUE(coordinator_->Say(Query(1)));
  EXPECT_EQ(recorder_.lines.Take(), "command 1");
  EXPECT_EQ(recorder_.lines.Take(), "beat");
}

// Its heartbeats would go on for ever, and others would wait for it.
TEST_F(TaskSessionTest, AHandlerThatNeverReturnsIsReportedOnce) {
  SessionOptions options = Options();
  options.heartbeat = absl::Milliseconds(5);
  options.on_stuck = [&](const std::string& why) { recorder_.lines.Put(why); };
  recorder_.during_command = [&] { go_on_.Take(); };
  StartSession(options);
  NextJoin();
  proto::Command welcome = Welcome(1);
  welcome.mutable_welcome()->set_progress_timeout_milliseconds(100);
  EXPECT_TRUE(coordinator_->Say(welcome));
  EXPECT_EQ(recorder_.lines.Take(), "welcome 1");
  ASSERT_TRUE(coordinator_->Say(Query(1)));
  EXPECT_EQ(recorder_.lines.Take(), "command 1");
  EXPECT_EQ(recorder_.lines.Take(), "the command ledger_query has not been executed for 100ms");
  go_on_.Put(1);
  ASSERT_TRUE(coordinator_->Say(Query(2)));
  go_on_.Put(2);
  EXPECT_EQ(recorder_.lines.Take(), "command 2");
}

TEST_F(TaskSessionTest, ABrokenStreamIsReplacedWithTheSameInstanceId) {
  StartSession();
  const proto::Join first = NextJoin();
  for (int round = 1; round <= 5; ++round) {
    ASSERT_TRUE(coordinator_->Say(Welcome(round)));
    EXPECT_EQ(recorder_.lines.Take(), absl::StrCat("welcome ", round));
    coordinator_->Break();
    EXPECT_EQ(recorder_.lines.Take(), "disconnected");
    const proto::Join again = NextJoin();
    EXPECT_EQ(again.instance_id(), first.instance_id());
    EXPECT_EQ(again.term_seen(), static_cast<uint64_t>(round));
    EXPECT_GT(again.index(), first.index());
  }
}

TEST_F(TaskSessionTest, ARestartedCoordinatorIsJoinedAgain) {
  StartSession();
  Joined(1);
  const int port = server_->port();
  server_->Shutdown(absl::ZeroDuration());
  server_.reset();
  EXPECT_EQ(recorder_.lines.Take(), "disconnected");
  EXPECT_FALSE(session_->Send(Reply(1)));
  StartCoordinator(port);
  Joined(2);
}

TEST_F(TaskSessionTest, ACoordinatorWithALowerTermIsRejected) {
  StartSession();
  Joined(7);
  coordinator_->Break();
  EXPECT_EQ(recorder_.lines.Take(), "disconnected");
  NextJoin();
  ASSERT_TRUE(coordinator_->Say(Welcome(6)));
  Joined(7);  // The session has left the coordinator with the lower term and joined again.
}

TEST_F(TaskSessionTest, ASilentCoordinatorIsLeftAfterTheLeaseOfItsWelcome) {
  StartSession();
  JoinedForALease(absl::Milliseconds(700));
  EXPECT_EQ(recorder_.lines.Take(), "disconnected");
  EXPECT_EQ(recorder_.reasons.Take(),
            absl::DeadlineExceededError("no message from the coordinator for 700ms"));
  Joined();
}

TEST_F(TaskSessionTest, APermanentRefusalEndsTheSession) {
  StartSession();
  NextJoin();
  ASSERT_TRUE(coordinator_->Say(Refuse("version 0.0.9, not 0.1.0", true)));
  EXPECT_EQ(recorder_.lines.Take(), "refused version 0.0.9, not 0.1.0");
  session_->Stop();
  EXPECT_EQ(joins_, 1);
}

TEST_F(TaskSessionTest, ATransientRefusalIsRetried) {
  StartSession();
  NextJoin();
  ASSERT_TRUE(coordinator_->Say(Refuse("another worker 0 is alive", false)));
  EXPECT_EQ(recorder_.lines.Take(), "refused another worker 0 is alive");
  Joined();
}

TEST_F(TaskSessionTest, AnExpiredLeaseIsADisconnection) {
  StartSession();
  Joined();
  ASSERT_TRUE(coordinator_->Say(Refuse("the lease is over", false)));
  EXPECT_EQ(recorder_.lines.Take(), "disconnected");
  EXPECT_EQ(recorder_.reasons.Take(),
            absl::FailedPreconditionError("the coordinator refused: the lease is over"));
  Joined();
}

TEST_F(TaskSessionTest, ASlowHandlerExertsBackPressureAndLosesNothing) {
  SessionOptions options = Options();
  options.inbox_max = 2;
  recorder_.during_command = [this] { go_on_.Take(); };
  StartSession(options);
  JoinedForALease(absl::Seconds(2));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(coordinator_->Say(Query(i)));
  EXPECT_EQ(recorder_.lines.Take(), "command 0");
  absl::SleepFor(
      // Longer than the lease: unread commands must not count as silence.
      absl::Milliseconds(2500));
  EXPECT_TRUE(recorder_.lines.empty());
  for (int i = 0; i < 20; ++i) go_on_.Put(0);
  for (int i = 1; i < 20; ++i) EXPECT_EQ(recorder_.lines.Take(), absl::StrCat("command ", i));
}

TEST_F(TaskSessionTest, StopEndsTheStreamAtOnce) {
  StartSession();
  Joined();
  session_->Stop();
  session_->Stop();
  EXPECT_FALSE(session_->Send(Reply(1)));
  EXPECT_TRUE(recorder_.lines.empty());
}

TEST_F(TaskSessionTest, ATaskThatEndsIsNeededWhileItsCoordinatorEnds) {
  StartSession();
  EXPECT_FALSE(session_->IsNeeded(absl::ZeroDuration())) << "there is no stream";
  Joined();
  EXPECT_TRUE(session_->IsNeeded(absl::ZeroDuration())) << "a coordinator may say so yet";
  EXPECT_FALSE(session_->IsNeeded(absl::Seconds(1))) << "it has not";
  proto::Command ending;
  ending.mutable_ending()->set_milliseconds(absl::ToInt64Milliseconds(absl::Hours(1)));
  ASSERT_TRUE(coordinator_->Say(ending));
  ASSERT_TRUE(coordinator_->Say(Query(1)));
  EXPECT_EQ(recorder_.lines.Take(), "command 1") << "the handler does not hear of it";
  EXPECT_TRUE(session_->IsNeeded(absl::Seconds(1)));
  coordinator_->Break();
  EXPECT_EQ(recorder_.lines.Take(), "disconnected");
  EXPECT_FALSE(session_->IsNeeded(absl::Seconds(1)));
  Joined();
  EXPECT_FALSE(session_->IsNeeded(absl::Seconds(1))) << "this one does not end";
  ending.mutable_ending()->set_milliseconds(0);
  ASSERT_TRUE(coordinator_->Say(ending));
  ASSERT_TRUE(coordinator_->Say(Query(2)));
  EXPECT_EQ(recorder_.lines.Take(), "command 2");
  EXPECT_FALSE(session_->IsNeeded(absl::ZeroDuration())) << "its time is over";
}

TEST_F(TaskSessionTest, ASessionWithoutACoordinatorStopsSilently) {
  server_->Shutdown();
  StartSession();
  session_->Stop();
  EXPECT_FALSE(session_->Send(Reply(1)));
  EXPECT_TRUE(recorder_.lines.empty());
}

}  // namespace
}  // namespace cairn::cluster
