#ifndef CAIRN_WORKER_STRATEGY_VALUE_PULLER_H_
#define CAIRN_WORKER_STRATEGY_VALUE_PULLER_H_

#include <cstdint>
#include <deque>
#include <map>
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

enum class PullResult {
  kValues,
  kAbandoned,  // should_abandon returned true.
  kApplied,    // The batch of the pull is applied already.
};

// Pulls values from all parameter servers in parallel. One Pull at a time; Wake from any thread.
//
// Values of a batch may not exist yet; then the request waits at the ps. A share of more than a few
// requests is therefore requested in steps: the first request alone, then a few at a time. So a
// thousand workers that wait for an update of large shares park one request each, not hundreds.
class ValuePuller {
 public:
  using Destination = absl::FunctionRef<absl::Span<float>(uint32_t block)>;

  // `group` is cancelled when a pull is abandoned, so no other object may use it. `client` and
  // `table` must outlive the puller.
  ValuePuller(cluster::PsClient* client, const BlockTable* table, cluster::PsClient::Group group)
      : client_(client), table_(table), group_(group) {}

  // Sends `requests` and blocks until every one is answered or cancelled. `header` has the job, the
  // generation, and the batch or cut. `destination` returns the memory for a block's values; it is
  // not written after Pull returns. If the result is not kValues, some destinations may have been
  // written. While it waits it calls should_abandon every 50 ms and after each Wake. Returns the
  // first error of a request; Internal for a malformed reply.
  absl::StatusOr<PullResult> Pull(const proto::PullHeader& header,
                                  const std::vector<BlockTable::Request>& requests,
                                  Destination destination,
                                  absl::FunctionRef<bool()> should_abandon);

  // Makes a Pull that waits call should_abandon.
  void Wake();

 private:
  // The requests to one ps.
  struct Share {
    std::deque<const BlockTable::Request*> unsent;
    int in_flight = 0;
    int in_flight_max = 0;
  };

  void Send(const proto::PullHeader& header, const BlockTable::Request& request,
            Destination destination);
  // Returns the requests that may be sent now.
  std::vector<const BlockTable::Request*> TakeSendable();
  void DropUnsent();
  bool AnySendable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnReply(const BlockTable::Request& request, absl::StatusOr<proto::PullReplyHeader> reply);
  // Returns true if all replies are in, and false if should_abandon or CanStop must be checked, or
  // more can be sent.
  bool WaitForReplies();
  // Whether the result is known, so that the remaining requests can be cancelled.
  bool CanStop();

  cluster::PsClient* const client_;
  const BlockTable* const table_;
  const cluster::PsClient::Group group_;

  Mutex mutex_;
  ConditionVariable changed_;
  int outstanding_ ABSL_GUARDED_BY(mutex_) = 0;          // Unsent ones included.
  std::map<int, Share> shares_ ABSL_GUARDED_BY(mutex_);  // By ps.
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool applied_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_VALUE_PULLER_H_
