#ifndef CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
#define CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_

#include <cstdint>
#include <functional>
#include <memory>
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

// Sends gradients to the parameter servers while the backward pass still makes others, and sees to
// it that a batch is called settled only when every push of it was acknowledged. Belongs to one
// thread, but Wake.
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
    // Acknowledgements bring the updated values along, to where this says: written on the client's
    // thread, any time between Add and the acknowledgement. Null: none are wanted.
    Destination destination;
    // Where the norms of updates are clipped: pushes are answered when the update is folded, and it
    // is applied when one of its workers has heard of all blocks and sent their scales. Must
    // outlive the pusher. Null: updates are applied without more words.
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

  // Waits until fewer than `limit` steps are under way; false if should_abandon said so. Returns
  // the error as status() does.
  absl::StatusOr<bool> WaitForRoom(int limit, absl::FunctionRef<bool()> should_abandon);
  void Wake();

  // The first failure of a push; after it nothing more is settled.
  absl::Status status();

 private:
  // Copies of one step's gradients; used again when nobody uses them any more.
  struct Buffer {
    std::vector<float> gradients;
    int uses = 0;  // By its step and its requests. Guarded by mutex_.
  };
  struct StepState {
    int64_t batch = 0;
    proto::BatchRecord record;
    std::shared_ptr<Buffer> buffer;  // Null: gradients are not copied.
    // The rest is guarded by mutex_. Requests under way, and one while more may come.
    int open = 1;
    UpdateNorms::Sums sums;
    bool scaled = false;  // The requests are those with the scales.
  };
  enum class Finished { kNothing, kGradients, kStep };
  // What a request named, with a gradient and then without.
  struct Asked {
    std::vector<uint32_t> blocks;
    int versions = 0;  // Expected in the reply.
  };
  // One ps's next request.
  struct Pending {
    proto::PushHeader header;
    std::vector<cluster::FramePiece> pieces;
    int64_t bytes = 0;
  };

  std::shared_ptr<Buffer> TakeBuffer();
  void Release(const std::shared_ptr<Buffer>& buffer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where the gradient of a block is sent from.
  cluster::FramePiece PieceOf(const BlockTable::Block& block, absl::Span<const float> gradient,
                              float scale);
  void Flush(int ps);
  void SendScales(const std::shared_ptr<StepState>& step);
  void Send(int ps, const std::shared_ptr<StepState>& step, proto::PushHeader header,
            std::vector<cluster::FramePiece> pieces);
  void OnReply(const std::shared_ptr<StepState>& step, const Asked& asked,
               const absl::StatusOr<proto::PushReplyHeader>& reply);
  absl::Status TakeReply(const Asked& asked, const absl::StatusOr<proto::PushReplyHeader>& reply,
                         StepState* step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What has ended with this part of the step, and went well.
  Finished FinishPart(StepState* step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GoOn(Finished finished, const std::shared_ptr<StepState>& step);

  cluster::PsClient* const client_;
  const BlockTable* const table_;
  const Options options_;

  // Of the step that is open.
  std::shared_ptr<StepState> step_;
  std::vector<Pending> pending_;  // By ps.
  std::vector<bool> added_;
  int64_t examples_ = 0;

  Mutex mutex_;
  ConditionVariable changed_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int steps_ ABSL_GUARDED_BY(mutex_) = 0;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Buffer>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_GRADIENT_PUSHER_H_
