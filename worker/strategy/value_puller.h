#ifndef CAIRN_WORKER_STRATEGY_VALUE_PULLER_H_
#define CAIRN_WORKER_STRATEGY_VALUE_PULLER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "proto/parameter_server.pb.h"
#include "worker/strategy/block_table.h"

namespace cairn::worker {

// Fetches values from all parameter servers at once. One Pull at a time; Wake from any thread.
class ValuePuller {
 public:
  enum class Outcome { kValues, kAbandoned, kSettled };
  using Destination = absl::FunctionRef<absl::Span<float>(uint32_t block)>;

  // `group` is cancelled when a pull is abandoned: it must be this puller's alone. `client` and
  // `table` must outlive it.
  ValuePuller(cluster::PsClient* client, const BlockTable* table, cluster::PsClient::Group group)
      : client_(client), table_(table), group_(group) {}

  // `header` says job, generation and source. Blocks until every request is answered; the
  // destinations are not written afterwards. Unless the outcome is kValues some of them may have
  // been. While it waits it asks should_abandon every 50 ms, and after each Wake.
  absl::StatusOr<Outcome> Pull(const proto::PullHeader& header,
                               const std::vector<BlockTable::Request>& requests,
                               Destination destination, absl::FunctionRef<bool()> should_abandon);

  void Wake();

 private:
  void Send(const proto::PullHeader& header, const BlockTable::Request& request,
            Destination destination);
  void OnReply(const BlockTable::Request& request, absl::StatusOr<proto::PullReplyHeader> reply);
  // False when a look at should_abandon is due.
  bool WaitForReplies();
  bool CanStop();

  cluster::PsClient* const client_;
  const BlockTable* const table_;
  const cluster::PsClient::Group group_;

  Mutex mutex_;
  ConditionVariable changed_;
  int outstanding_ ABSL_GUARDED_BY(mutex_) = 0;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool settled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_VALUE_PULLER_H_
