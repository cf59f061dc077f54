#ifndef CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
#define CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "proto/job.pb.h"
#include "proto/parameter_server.pb.h"
#include "worker/strategy/block_table.h"
#include "worker/strategy/clipped_update.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// Pushes gradients to the parameter servers. A batch is reported as applied only when every push of
// it is acknowledged.
//
//   Begin, Add for each variable with a gradient, End; then the next step
//
// A step takes up to three rounds of requests to the ps:
//   gradients   sends the gradients; a ps may reply that it buffered them
//   update      only for buffered gradients: requests the reply to the complete update
//   scales      only if norms of updates are clipped: sends the scales computed from that reply
//
// Memory in a synchronous job: a worker computes many batches of one update, and none of them is
// acknowledged before the update is complete. The first steps keep copies of their gradients until
// then, which takes one round of requests. Once half of the budget is in use, steps ask the ps to
// reply as soon as it has buffered the gradients, which frees the copy but takes a second round.
//
// A step that was computed on early values (ParameterServerStrategy) is held: none of its requests
// is sent before all steps of the updates before are acknowledged.
//
// All methods belong to one thread, except Wake. Errors are sticky: after the first failed push no
// batch is reported as applied, and status() and the waiting methods return the error.
class GradientPusher {
 public:
  // Returns the memory for a block's values, of the block's size.
  using Destination = std::function<absl::Span<float>(uint32_t block)>;

  struct Options {
    uint64_t job_id = 0;
    uint64_t generation = 0;
    cluster::PsClient::Group group = 0;  // No other object may use it.
    // True: copies gradients, so that the next step can be computed before this one is
    // acknowledged. False: sends them from where they are. The caller then must not change them
    // until the step is acknowledged (WaitForSteps), and every scale must be 1.
    bool copy_gradients = true;
    // Bytes for these copies. Two steps always have room.
    int64_t gradient_memory = int64_t{1} << 30;
    // If set, acknowledgements carry the updated values, which are written here on the client's
    // thread at any time between Add and the acknowledgement. Null: values are not requested.
    Destination destination;
    // Set if the norms of updates are clipped: the ps reply to a push when the update is reduced,
    // and apply it when one of its workers has sent the scales. Every step begins with a copy.
    // nullopt: the ps apply an update when it is complete.
    std::optional<ClippedUpdate> clipped_update;
    Strategy::OnApplied on_applied;
  };

  // `client` and `table` must outlive the pusher.
  GradientPusher(cluster::PsClient* client, const BlockTable* table, Options options);
  // Cancels the requests in flight and waits for their callbacks. Their batches are not reported.
  ~GradientPusher();
  GradientPusher(const GradientPusher&) = delete;
  GradientPusher& operator=(const GradientPusher&) = delete;

  // Add sends scale times the gradient. Variables that were not added have no gradient in this
  // step: End pushes their blocks without data, so that the batch is recorded in their ledgers too.
  // A rejected batch has no gradient at all, and no examples: it does not count in the mean of a
  // synchronous update.
  // The step is held as long as a step of a batch below `held_by` is not acknowledged; 0: it is
  // not.
  void Begin(int64_t batch, int64_t examples, int64_t held_by = 0);
  void Add(int variable, absl::Span<const float> gradient, float scale = 1);
  void End(const proto::BatchRecord& record);

  // Waits until every step is acknowledged. Returns false if should_abandon returned true.
  absl::StatusOr<bool> WaitForSteps(absl::FunctionRef<bool()> should_abandon);
  // As WaitForSteps, but waits until there is memory for the gradients of `batch`. A batch lower
  // than all batches that keep their gradients never waits: their update may be waiting for it.
  absl::StatusOr<bool> WaitForMemory(int64_t batch, absl::FunctionRef<bool()> should_abandon);
  // Makes a method that waits call should_abandon. Callable from any thread.
  void Wake();

  // The first error of a push.
  absl::Status status();
  // The number of steps that keep a copy of their gradients now.
  int64_t gradient_copies();

 private:
  class StepPush;
  // A copy of one step's gradients.
  using Gradients = std::vector<float>;

  // Null if gradients are not copied.
  std::shared_ptr<Gradients> TakeCopy();
  bool KeepsFewGradients() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For ever after an error: a step before may have ended without an acknowledgement.
  bool IsHeld(int64_t held_by) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (held_by == 0) return false;
    return !status_.ok() || (!steps_.empty() && *steps_.begin() < held_by);
  }
  void SendHeld();
  void CancelIfClosing();
  absl::StatusOr<bool> WaitUntil(absl::FunctionRef<bool()> may_go_on,
                                 absl::FunctionRef<bool()> should_abandon);

  cluster::PsClient* const client_;
  const BlockTable* const table_;
  const Options options_;
  // The number of steps that may keep copies of their gradients at once.
  const int64_t copies_max_;

  std::shared_ptr<StepPush> step_;  // Between Begin and End.

  Mutex mutex_;
  ConditionVariable changed_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;  // Requests in flight, until their callback returns.
  std::multiset<int64_t> steps_ ABSL_GUARDED_BY(mutex_);  // Batches that are not acknowledged.
  std::vector<std::shared_ptr<StepPush>> held_ ABSL_GUARDED_BY(mutex_);
  std::multiset<int64_t> keeping_ ABSL_GUARDED_BY(mutex_);  // Batches that keep their gradients.
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Gradients>> free_ ABSL_GUARDED_BY(mutex_);  // Copies to use again.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
