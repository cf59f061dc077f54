#ifndef CAIRN_PARAMETERS_PEER_WATCH_H_
#define CAIRN_PARAMETERS_PEER_WATCH_H_

#include <memory>

#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"

namespace cairn::parameters {

// Finds out which ps of the cluster this task does not reach: the members of a replicated job stop
// if two of them do not reach each other, although both reach the coordinator. Asks also ps that
// take no part in a job, since they may return to it, and this ps itself. A ps is silent if it
// answers nothing, not even a ping. Thread-safe.
class PeerWatch {
 public:
  // The maximum number of ps that are asked with each heartbeat.
  static constexpr int kPingsPerHeartbeat = 32;

  // How to reach the ps. Silences begin anew if that changes.
  void SetCluster(cluster::PsClientOptions options);
  // Adds the silent ps, and asks some that are not silent. Does not block.
  void FillHeartbeat(proto::Heartbeat* heartbeat);
  void Stop();

 private:
  Mutex mutex_;
  cluster::PsClientOptions options_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<cluster::PsClient> client_ ABSL_GUARDED_BY(mutex_);  // Null before SetCluster.
  int next_ ABSL_GUARDED_BY(mutex_) = 0;                               // The ps that is asked next.
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_PEER_WATCH_H_
