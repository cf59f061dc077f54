#include "parameters/ps_task.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace cairn::parameters {

namespace {

// The maximum number of requests that wait for an owner thread. With blocks of 1 MiB they take much
// longer than a second.
constexpr size_t kOwnerQueueMax = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<PsTask>> PsTask::Start(const PsTaskOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<storage::SnapshotStore> snapshots,
                         storage::SnapshotStore::Open(options.directory));
  std::unique_ptr<PsTask> task(new PsTask(options, std::move(snapshots)));
  cluster::DataServerOptions server;
  server.address = options.bind_address;
  server.threads = options.server_threads;
  CAIRN_ASSIGN_OR_RETURN(task->server_,
                         cluster::DataServer::Start(server, [service = &task->service_](auto call) {
                           service->Handle(std::move(call));
                         }));
  CAIRN_LOG_INFO("serving", "ps", options.index, "port", task->port(), "owner_threads",
                 options.owner_threads, "snapshots", options.directory);
  if (options.unsafe_disable_ledger) {
    CAIRN_LOG_WARNING("the ledger is disabled: repeated pushes are applied again");
  }
  task->Join();
  return task;
}

PsTask::PsTask(const PsTaskOptions& options, std::unique_ptr<storage::SnapshotStore> snapshots)
    : options_(options),
      snapshots_(std::move(snapshots)),
      uploads_(snapshots_.get()),
      catalog_(options.index, snapshots_.get(), options.parent_directory),
      fetcher_(absl::StrCat("ps ", options.index)),
      owners_(options.owner_threads, kOwnerQueueMax),
      gradient_budget_(options.gradient_memory),
      store_(options.index),
      service_({options.index, &store_, &uploads_, &catalog_, &pool_, &profile_,
                options.pushed_bytes_max}),
      control_({options.index,
                &store_,
                &uploads_,
                snapshots_.get(),
                &catalog_,
                &fetcher_,
                &pool_,
                &owners_,
                {.block = {.unsafe_disable_ledger = options.unsafe_disable_ledger,
                           .profile = &profile_,
                           .gradient_budget = &gradient_budget_}}},
               [this](proto::TaskMessage message) { Send(std::move(message)); }) {}

PsTask::~PsTask() { Stop(); }

std::string PsTask::OwnAddress() const {
  constexpr char kAnyPort[] = ":0";
  if (!absl::EndsWith(options_.own_address, kAnyPort)) return options_.own_address;
  return absl::StrCat(absl::StripSuffix(options_.own_address, kAnyPort), ":", port());
}

void PsTask::Join() {
  cluster::SessionOptions session;
  session.address = options_.coordinator;
  session.make_join = [this] {
    proto::Join join;
    join.set_role(proto::PS);
    join.set_index(options_.index);
    join.set_address(OwnAddress());
    join.mutable_ps_addresses()->Assign(options_.ps_addresses.begin(), options_.ps_addresses.end());
    join.set_cluster_id(cluster_id_);
    join.set_keeps_cluster_id(snapshots_->cluster_id());
    control_.FillJoin(&join);
    return join;
  };
  session.on_stuck = options_.on_stuck;
  session.fill_heartbeat = [this](proto::Heartbeat* heartbeat) {
    control_.FillHeartbeat(heartbeat);
    peer_watch_.FillHeartbeat(heartbeat);
  };
  MutexLock lock(&mutex_);
  session_ = std::make_unique<cluster::TaskSession>(std::move(session), this);
}

void PsTask::Send(proto::TaskMessage message) {
  MutexLock lock(&mutex_);
  // If the stream is broken the message is dropped; the coordinator repeats its command after it is
  // back.
  if (session_ != nullptr) session_->Send(std::move(message));
}

bool PsTask::IsNeeded(absl::Duration waited) {
  MutexLock lock(&mutex_);
  return session_ != nullptr && session_->IsNeeded(waited);
}

void PsTask::Stop() {
  std::unique_ptr<cluster::TaskSession> session;
  {
    MutexLock lock(&mutex_);
    session = std::move(session_);
  }
  // First, because the session's handler may be waiting for another ps.
  fetcher_.Stop();
  // Outside of the lock, which the session's handlers may need.
  if (session != nullptr) session->Stop();
  peer_watch_.Stop();
  // Here and not in a destructor, so that the daemon's timeout for stopping applies.
  control_.Stop();
  if (server_ != nullptr) server_->Shutdown();
  store_.Drop(absl::UnavailableError("the parameter server stops"));
}

void PsTask::OnWelcome(const proto::Welcome& welcome) {
  CAIRN_FAILPOINT("ps.welcome").IgnoreError();
  // An error (full disk) is not fatal: the id is written at the next Welcome.
  const absl::Status owned = snapshots_->BelongTo(welcome.cluster_id());
  if (!owned.ok()) CAIRN_LOG_WARNING("cannot write the cluster id", "error", owned);
  const uint64_t before = cluster_id_.exchange(welcome.cluster_id());
  // Another cluster has other jobs with the same ids.
  if (before != 0 && before != welcome.cluster_id()) control_.LeaveCluster();
  service_.set_cluster_id(welcome.cluster_id());
  SetCluster({welcome.ps_addresses().begin(), welcome.ps_addresses().end()}, welcome.cluster_id());
}

void PsTask::SetCluster(std::vector<std::string> ps_addresses, uint64_t cluster_id) {
  fetcher_.SetCluster(std::move(ps_addresses), cluster_id);
  if (options_.watch_peers) peer_watch_.SetCluster(fetcher_.client_options());
}

void PsTask::OnCommand(const proto::Command& command) {
  if (!command.has_ps_addresses()) return control_.Handle(command);
  const auto& addresses = command.ps_addresses().addresses();
  SetCluster({addresses.begin(), addresses.end()}, cluster_id_);
}

// Workers are still served: the data plane does not need the coordinator.
void PsTask::OnDisconnected(const absl::Status& why) {
  CAIRN_LOG_WARNING("lost the coordinator", "why", why);
}

void PsTask::OnRefused(const proto::Refused& refused) {
  CAIRN_LOG_WARNING("refused by the coordinator", "reason", refused.reason(), "permanent",
                    refused.permanent());
  if (refused.permanent() && options_.on_refused != nullptr) options_.on_refused(refused.reason());
}

}  // namespace cairn::parameters
