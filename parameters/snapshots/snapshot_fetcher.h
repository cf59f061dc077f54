#ifndef CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FETCHER_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FETCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "proto/checkpoint.pb.h"
#include "storage/snapshot_reader.h"

namespace cairn::parameters {

// Reads snapshots of other ps, and blocks in their memory, over the network, a few MiB at a time.
// Thread-safe.
class SnapshotFetcher {
 public:
  // `sender` is this task's name, for example "ps 2". `reply_timeout` is the timeout for a reply.
  explicit SnapshotFetcher(std::string sender, absl::Duration reply_timeout = absl::Seconds(30))
      : sender_(std::move(sender)), reply_timeout_(reply_timeout) {}

  // Sets the addresses of all ps, by index, and the cluster's id. Call it for each Welcome; Fetch
  // fails before the first.
  void SetCluster(std::vector<std::string> addresses, uint64_t cluster_id);

  // A snapshot and the ps to read it from.
  struct Source {
    uint32_t from = 0;
    uint64_t job_id = 0;
    uint64_t checkpoint = 0;
    proto::SnapshotPart part;
    // Set: blocks in the memory of `from` in this version, not those of `checkpoint`.
    std::optional<int64_t> replica_version = std::nullopt;
  };
  using Visit = absl::FunctionRef<absl::Status(uint32_t block, storage::BlockRecord record)>;

  // Calls `visit` on this thread for each of `blocks`, in order, until it returns an error. Blocks.
  // Unavailable: the ps does not exist or did not answer in time. Cancelled: Stop was called.
  // NotFound, DataLoss: the ps cannot read the snapshot.
  absl::Status Fetch(const Source& source, absl::Span<const uint32_t> blocks, Visit visit);

  // How to reach the other ps.
  cluster::PsClientOptions client_options() const;

  // Cancels all current and future calls.
  void Stop();

 private:
  using Records = absl::StatusOr<std::vector<cluster::FetchedRecord>>;

  absl::StatusOr<std::shared_ptr<cluster::PsClient>> ClientFor(uint32_t from);
  Records FetchOnce(cluster::PsClient* client, const Source& source,
                    absl::Span<const uint32_t> blocks);

  const std::string sender_;
  const absl::Duration reply_timeout_;
  mutable Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_group_ ABSL_GUARDED_BY(mutex_) = 0;
  cluster::PsClientOptions options_ ABSL_GUARDED_BY(mutex_);
  // Created on first use after SetCluster.
  std::shared_ptr<cluster::PsClient> client_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FETCHER_H_
