#ifndef CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
#define CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_

#include <cstdint>
#include <functional>
#include <memory>
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
#include "worker/strategy/strategy.h"
#include "worker/strategy/update_norms.h"

namespace cairn::worker {

// Sends gradients to the parameter servers while the backward pass still makes others, and reports
// a batch as applied only when every push of it was acknowledged. Belongs to one thread, but Wake.
//
// A step goes through up to three stages, each a round of requests to the ps:
//   gradients   the gradients; if the ps answers that it buffered them, their copy is dropped here
//   update      only if gradients were buffered: asks for the answer to the complete update
//   scales      only where norms of updates are clipped: the scales that follow from that answer
//
// Memory of a synchronous job: a worker computes many batches of one update, and none of them is
// acknowledged before all of the update's batches are in. The first steps keep their gradients
// until then, which needs one round of requests in place of two. Beyond half of the budget steps
// ask the ps to answer when it has buffered the gradients.
class GradientPusher {
 public:
  // The block's values, of its size.
  using Destination = std::function<absl::Span<float>(uint32_t block)>;

  struct Options {
    uint64_t job_id = 0;
    uint64_t generation = 0;
    cluster::PsClient::Group group = 0;  // This pusher's alone.
    // Steps overlap: the acknowledgements of one come while the next is computed, so gradients are
    // copied into memory of the step's own. False: they stay where they are, unchanged, until the
    // step is acknowledged, which the caller waits for (WaitForRoom(1)) before it makes others; no
    // scale is possible then.
    bool copy_gradients = true;
    // For these copies, in bytes. Two steps always have room.
    int64_t gradient_memory = int64_t{1} << 30;
    // Acknowledgements bring the updated values along, to where this says: written on the client's
    // thread, any time between Add and the acknowledgement. Null: none are wanted.
    Destination destination;
    // Where the norms of updates are clipped: pushes are answered when the update is reduced, and
    // it is applied when one of its workers has the sums of all blocks and has sent their scales.
    // Must outlive the pusher. Null: the ps apply an update when it is complete.
    const UpdateNorms* norms = nullptr;
    Strategy::OnSettled on_settled;
  };

  // `client` and `table` must outlive it.
  GradientPusher(cluster::PsClient* client, const BlockTable* table, Options options);
  // Cancels what is under way; its batches are not settled.
  ~GradientPusher();
  GradientPusher(const GradientPusher&) = delete;
  GradientPusher& operator=(const GradientPusher&) = delete;

  // The step: Begin, Add for every variable that has a gradient, End. Blocks of variables without
  // one are pushed as settled. What is added is scale times the gradient.
  void Begin(int64_t batch, int64_t examples);
  void Add(int variable, absl::Span<const float> gradient, float scale = 1);
  void End(const proto::BatchRecord& record);

  // Waits until every step is acknowledged; false if should_abandon said so. Returns the error as
  // status() does.
  absl::StatusOr<bool> WaitForSteps(absl::FunctionRef<bool()> should_abandon);
  // The same, until there is memory for the gradients of `batch`. A batch that is lower than all
  // that keep their gradients never waits: they may be waiting for it.
  absl::StatusOr<bool> WaitForMemory(int64_t batch, absl::FunctionRef<bool()> should_abandon);
  void Wake();

  // The first failure of a push; after it nothing more is settled.
  absl::Status status();
  // Steps whose gradients are kept now.
  int64_t gradient_copies();

 private:
  // Copies of one step's gradients; used again when nobody uses them any more.
  struct Buffer {
    std::vector<float> gradients;
    int uses = 0;  // By its step and its requests. Guarded by mutex_.
  };
  enum class Stage { kGradients, kUpdate, kScales, kDone };
  // What a request named: blocks with a gradient, and then those without.
  struct Asked {
    int ps = 0;
    std::vector<uint32_t> blocks;
    int versions = 0;  // Of them, blocks with a gradient; so many versions are in the reply.
  };
  struct StepState {
    int64_t batch = 0;
    int64_t examples = 0;
    bool answer_when_buffered = false;
    proto::BatchRecord record;
    // The rest is guarded by mutex_.
    std::shared_ptr<Buffer> buffer;  // Null: gradients are not copied, or not kept any more.
    Stage stage = Stage::kGradients;
    int open = 1;                 // Requests of this stage under way, and one while more may come.
    std::vector<Asked> buffered;  // Requests that were answered so.
    UpdateNorms::Sums sums;
  };
  // One ps's next request.
  struct Pending {
    proto::PushHeader header;
    std::vector<cluster::FramePiece> pieces;
    int64_t bytes = 0;
  };

  std::shared_ptr<Buffer> TakeBuffer();
  void Release(StepState* step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool KeepsFewGradients() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> WaitUntil(absl::FunctionRef<bool()> may_go_on,
                                 absl::FunctionRef<bool()> should_abandon);
  // Where the gradient of a block is sent from.
  cluster::FramePiece PieceOf(const BlockTable::Block& block, absl::Span<const float> gradient,
                              float scale);
  void Flush(int ps);
  void Send(int ps, const std::shared_ptr<StepState>& step, proto::PushHeader header,
            std::vector<cluster::FramePiece> pieces);
  void SendUpdateRequests(const std::shared_ptr<StepState>& step);
  void SendScales(const std::shared_ptr<StepState>& step);
  void OnReply(const std::shared_ptr<StepState>& step, const Asked& asked,
               const absl::StatusOr<proto::PushReplyHeader>& reply);
  absl::Status TakeReply(const Asked& asked, const absl::StatusOr<proto::PushReplyHeader>& reply,
                         StepState* step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One request less is under way. If it was the stage's last: begins the next stage, whose
  // requests are sent without the lock, or ends the step.
  void FinishRequest(const std::shared_ptr<StepState>& step);
  Stage NextStage(const StepState& step) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  cluster::PsClient* const client_;
  const BlockTable* const table_;
  const Options options_;
  // How many steps may keep copies of their gradients at once.
  const int64_t copies_max_;

  // Of the step that is open.
  std::shared_ptr<StepState> step_;
  std::vector<Pending> pending_;  // By ps.
  std::vector<bool> added_;

  Mutex mutex_;
  ConditionVariable changed_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int steps_ ABSL_GUARDED_BY(mutex_) = 0;
  std::multiset<int64_t> keeping_ ABSL_GUARDED_BY(mutex_);  // Batches that keep their gradients.
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Buffer>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
