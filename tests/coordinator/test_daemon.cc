#include "tests/coordinator/test_daemon.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/version.h"

namespace cairn::coordinator {

TestDaemon::TestDaemon(const std::string& directory, size_t queue_capacity) {
  journal_ = *storage::Journal::Open(directory);
  ControlLoop::Options options;
  options.scheduler.membership.version = kVersion;
  options.scheduler.membership.ps_addresses = {"127.0.0.1:1", "127.0.0.1:2"};
  options.scheduler.membership.named_workers = {0, 1};
  options.scheduler.new_cluster_id = 7;
  options.journal = journal_.get();
  options.clock = &clock_;
  options.sessions = &sessions_;
  options.queue_capacity = queue_capacity;
  options.on_failure = [](const absl::Status& status) { ADD_FAILURE() << status; };
  loop_ = *ControlLoop::Start(std::move(options));
  service_ = std::make_unique<CoordinatorService>(CoordinatorService::Options{kVersion, 2},
                                                  loop_.get(), &sessions_, journal_.get());
  server_ = *cluster::ControlServer::Start("127.0.0.1:0", {service_.get()});
}

TestDaemon::~TestDaemon() { server_->Shutdown(); }

std::string TestDaemon::address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

std::unique_ptr<proto::Coordinator::Stub> TestDaemon::MakeStub() const {
  return proto::Coordinator::NewStub(
      grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
}

}  // namespace cairn::coordinator
