#include "tests/parameters/fake_coordinator.h"

#include <grpcpp/support/server_callback.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/control_server.h"
#include "common/bounded_queue.h"
#include "common/mutex.h"
#include "proto/coordinator.grpc.pb.h"

namespace cairn::parameters {

namespace {

template <typename T>
T TakeFrom(BoundedQueue<T>* queue) {
  std::optional<T> item = queue->Pop(absl::Seconds(20));
  EXPECT_TRUE(item.has_value()) << "the task said nothing";
  return item.value_or(T());
}

}  // namespace

class FakeCoordinator::Session final
    : public grpc::ServerBidiReactor<proto::TaskMessage, proto::Command> {
 public:
  explicit Session(Service* service) : service_(service) { StartRead(&message_); }

  void Tell(const proto::Command& command) {
    MutexLock lock(&mutex_);
    outbox_.push_back(command);
    if (outbox_.size() == 1) StartWrite(&outbox_.front());
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    outbox_.pop_front();
    if (ok && !outbox_.empty()) StartWrite(&outbox_.front());
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void End(const grpc::Status& status) {
    MutexLock lock(&mutex_);
    if (!std::exchange(ended_, true)) Finish(status);
  }
  void OnDone() override;

 private:
  Service* const service_;
  proto::TaskMessage message_;
  Mutex mutex_;
  std::deque<proto::Command> outbox_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class FakeCoordinator::Service final : public proto::Coordinator::CallbackService {
 public:
  grpc::ServerBidiReactor<proto::TaskMessage, proto::Command>* Session(
      grpc::CallbackServerContext*) override {
    return new FakeCoordinator::Session(this);
  }

  void Hear(FakeCoordinator::Session* session, proto::TaskMessage message) {
    if (message.has_join()) {
      {
        MutexLock lock(&mutex_);
        session_ = session;
      }
      proto::Command welcome;
      welcome.mutable_welcome()->set_term(1);
      welcome.mutable_welcome()->set_cluster_id(cluster_id_);
      welcome.mutable_welcome()->set_index(static_cast<uint32_t>(message.join().index()));
      session->Tell(welcome);
      joins_.Push(message.join());
    } else if (message.has_heartbeat()) {
      heartbeats_.TryPush(message.heartbeat());
    } else {
      messages_.Push(std::move(message));
    }
  }

  void Forget(FakeCoordinator::Session* session) {
    MutexLock lock(&mutex_);
    if (session_ == session) session_ = nullptr;
  }

  void BecomeAnotherCluster() {
    ++cluster_id_;
    MutexLock lock(&mutex_);
    ASSERT_NE(session_, nullptr) << "nobody has joined";
    session_->End(grpc::Status::OK);
  }

  void Tell(const proto::Command& command) {
    MutexLock lock(&mutex_);
    ASSERT_NE(session_, nullptr) << "nobody has joined";
    session_->Tell(command);
  }

  BoundedQueue<proto::Join> joins_{1000};
  BoundedQueue<proto::TaskMessage> messages_{1000};
  BoundedQueue<proto::Heartbeat> heartbeats_{1000};

 private:
  std::atomic<uint64_t> cluster_id_ = kClusterId;
  Mutex mutex_;
  FakeCoordinator::Session* session_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

void FakeCoordinator::Session::OnReadDone(bool ok) {
  if (!ok) return;
  service_->Hear(this, std::move(message_));
  StartRead(&message_);
}

void FakeCoordinator::Session::OnDone() {
  service_->Forget(this);
  delete this;
}

struct FakeCoordinator::Server {
  Service service;
  std::unique_ptr<cluster::ControlServer> grpc;
};

FakeCoordinator::FakeCoordinator(int port) : server_(std::make_unique<Server>()) {
  auto started =
      cluster::ControlServer::Start(absl::StrCat("127.0.0.1:", port), {&server_->service});
  EXPECT_TRUE(started.ok()) << started.status();
  server_->grpc = *std::move(started);
}

FakeCoordinator::~FakeCoordinator() { server_->grpc.reset(); }

int FakeCoordinator::port() const { return server_->grpc->port(); }
std::string FakeCoordinator::address() const { return absl::StrCat("127.0.0.1:", port()); }
proto::Join FakeCoordinator::TakeJoin() { return TakeFrom(&server_->service.joins_); }
void FakeCoordinator::BecomeAnotherCluster() { server_->service.BecomeAnotherCluster(); }
void FakeCoordinator::Tell(const proto::Command& command) { server_->service.Tell(command); }
proto::TaskMessage FakeCoordinator::Take() { return TakeFrom(&server_->service.messages_); }
proto::Heartbeat FakeCoordinator::TakeHeartbeat() {
  return TakeFrom(&server_->service.heartbeats_);
}

}  // namespace cairn::parameters
