#ifndef CAIRN_PARAMETERS_PS_TASK_H_
#define CAIRN_PARAMETERS_PS_TASK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cluster/data_server.h"
#include "cluster/task_session.h"
#include "common/mutex.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/gradient_budget.h"
#include "parameters/blocks/service_profile.h"
#include "parameters/job_control.h"
#include "parameters/owner_threads.h"
#include "parameters/parameter_service.h"
#include "parameters/parameter_store.h"
#include "parameters/peer_watch.h"
#include "parameters/snapshots/snapshot_catalog.h"
#include "parameters/snapshots/snapshot_fetcher.h"
#include "parameters/snapshots/upload_store.h"
#include "storage/snapshot_store.h"

namespace cairn::parameters {

struct PsTaskOptions {
  uint32_t index = 0;
  std::string bind_address;  // HOST:PORT to bind; port 0 chooses a free port.
  // The address of this task in the cluster; with port 0, the port that it binds.
  std::string own_address;
  std::vector<std::string> ps_addresses;  // Of all ps, by index.
  std::string coordinator;                // HOST:PORT.
  std::string directory;                  // Directory of the snapshot store.
  std::string parent_directory;           // See SnapshotCatalog.
  int owner_threads = 1;
  int server_threads = 2;
  int64_t gradient_memory = int64_t{1} << 30;   // Bytes; see GradientBudget.
  int64_t pushed_bytes_max = int64_t{1} << 30;  // See ParameterService::Parts.
  bool unsafe_disable_ledger = false;           // See Block::Options.
  bool watch_peers = false;                     // Reports the ps that it does not reach.
  // Called when the coordinator has refused this task permanently, on a thread that must not be
  // blocked.
  std::function<void(const std::string& reason)> on_refused;
  // See SessionOptions.
  std::function<void(const std::string& why)> on_stuck;
};

// A parameter server: serves the data plane to workers and follows the coordinator's commands.
class PsTask final : public cluster::SessionHandler {
 public:
  // Starts serving, and connects to the coordinator until Stop. Errors: see SnapshotStore::Open and
  // DataServer::Start.
  static absl::StatusOr<std::unique_ptr<PsTask>> Start(const PsTaskOptions& options);
  ~PsTask() override;

  int port() const { return server_->port(); }
  // For calls of this process. It may outlive the task.
  const std::shared_ptr<cluster::DataServer>& server() const { return server_; }

  // As cluster::TaskSession's.
  bool IsNeeded(absl::Duration waited);
  // Leaves the coordinator and answers all remaining calls with UNAVAILABLE. Idempotent.
  void Stop();

 private:
  PsTask(const PsTaskOptions& options, std::unique_ptr<storage::SnapshotStore> snapshots);

  std::string OwnAddress() const;
  void Join();
  void SetCluster(std::vector<std::string> ps_addresses, uint64_t cluster_id);
  void Send(proto::TaskMessage message);

  // cluster::SessionHandler.
  void OnWelcome(const proto::Welcome& welcome) override;
  void OnCommand(const proto::Command& command) override;
  void OnDisconnected(const absl::Status& why) override;
  void OnRefused(const proto::Refused& refused) override;

  const PsTaskOptions options_;
  // Members are in the order of their dependencies: each refers only to earlier ones. The server
  // and the session, which call the later ones, are stopped by Stop before anything is destroyed.
  const std::unique_ptr<storage::SnapshotStore> snapshots_;
  std::shared_ptr<cluster::DataServer> server_;
  Mutex mutex_;
  // Its handlers may run before its constructor returns; they wait for the lock.
  std::unique_ptr<cluster::TaskSession> session_ ABSL_GUARDED_BY(mutex_);
  UploadStore uploads_;
  SnapshotCatalog catalog_;
  SnapshotFetcher fetcher_;
  PeerWatch peer_watch_;
  BufferPool pool_;
  OwnerThreads owners_;
  ServiceProfile profile_;
  GradientBudget gradient_budget_;
  ParameterStore store_;
  ParameterService service_;
  std::atomic<uint64_t> cluster_id_ = 0;  // Of the last Welcome; 0 before the first.
  JobControl control_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_PS_TASK_H_
