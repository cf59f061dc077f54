#ifndef CAIRN_PARAMETERS_BLOCKS_BLOCK_H_
#define CAIRN_PARAMETERS_BLOCKS_BLOCK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nn/optimizers/square_sum.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/block_reply.h"
#include "parameters/blocks/gradient_accumulator.h"
#include "parameters/blocks/gradient_budget.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/parked_pulls.h"
#include "parameters/blocks/replicated_state.h"
#include "parameters/blocks/service_profile.h"
#include "parameters/blocks/update_rule.h"
#include "storage/rate_changes.h"

namespace cairn::parameters {

// One batch's gradient for one block, from its decoding until it is applied or reduced.
struct BlockPush {
  int position = 0;      // Of the block in the layout.
  int64_t batch = 0;     // In [0, total_batches).
  int64_t examples = 1;  // In the batch. 0 if it was rejected: it has no gradient then.
  // Of the block's size, with no other reference to it; null: the batch has no gradient here, and
  // is only marked as applied.
  BlockBuffer gradient;
  bool want_values = false;
  // Synchronous: answer as soon as the gradient is buffered, not only when its update is applied.
  bool answer_when_buffered = false;
  // Synchronous: an earlier push of this batch was answered `buffered`; it brings no gradient, and
  // asks for the answer to the update.
  bool already_buffered = false;
};

// The values, slots and ledger of one block of a running job. Answers pulls when the job's
// consistency allows it, and applies each batch exactly once. Owned by one thread, which makes all
// calls, so no reader sees a half-applied update.
//
// Asynchronous and stale jobs: a push is applied at once and then acknowledged.
//
// Synchronous jobs: pushes are parked until all gradients of their update have arrived. Then one
// step applies their mean, marks all batches of the update in the ledger, and acknowledges all
// pushes. The previous values are kept until the first push for the next update arrives. That push
// proves that all blocks of the cluster have applied this update. At most one push of each batch is
// parked, the last one, because a sender repeats a push whose reply takes too long. A sender that
// does not keep its gradient until then sets answer_when_buffered, and later pushes the batch again
// without the gradient (already_buffered) to learn when the update is applied. Gradients that
// arrive before those of a lower batch are buffered within a budget of bytes. Beyond the budget
// they are rejected with ResourceExhausted, and their senders repeat them.
//
// Replicated jobs (synchronous): the owner of a block passes each reduced update to
// Options::replicate, and has applied it when Replicated() says that all replicas have received it.
// Only then are pushes acknowledged and the new values visible, except to early pulls. A replica
// keeps the state before the last update that it received, until it receives the next one. This
// proves that all blocks of the cluster have applied the former. The owner keeps the state before
// its last update as long. So with every member, each block is available in the last version that
// was visible on all blocks: see ReplicatedState.
//
// If norms of updates are clipped, an update takes two steps. When its gradients are reduced, its
// pushes are answered with the sum of squares of the mean, and the values are unchanged.
// ApplyUpdate then applies the mean with a scale. A repeated push returns the sum again until the
// next update is reduced.
class Block {
 public:
  struct Options {
    // A fault that tests inject and must detect: repeated pushes are applied again.
    bool unsafe_disable_ledger = false;
    // Must outlive the block. Null: no profile.
    ServiceProfile* profile = nullptr;
    // Shared by all blocks of this ps; must outlive the block. Null: no limit.
    GradientBudget* gradient_budget = nullptr;
    // The block is a replica: it changes only by Receive.
    bool is_replica = false;
    // Not null: the block has replicas. Called with each reduced update; Replicated() answers.
    std::function<void(ReducedBlock)> replicate = nullptr;
  };

  // `layout` and `rule` must outlive the block. `position` is its index in layout->blocks().
  Block(const JobLayout* layout, int position, const UpdateRule* rule, BlockState initial,
        const Options& options);
  // All parked calls must have been answered, for example by Close.
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const BlockSpec& spec() const { return spec_; }
  const BlockState& state() const { return state_; }

  // Answers, now or later, with values that are fresh enough for the batch. `pull.batch` is in [0,
  // total_batches). If `pull.early`, with the values after a reduced update, too, as soon as they
  // are computed; also on a replica. Who pulls them must not push the batch before all blocks have
  // applied that update. ResourceExhausted: the pull would have to wait, and too many wait already.
  void Pull(ParkedPulls::Pull pull);

  // Answers when the batch is applied (or buffered, if answer_when_buffered), with the new values
  // if want_values. Errors: Unavailable (the same batch was pushed again, and that push is parked
  // instead), FailedPrecondition (frozen block; an earlier update is not complete), OutOfRange (too
  // far ahead of the ledger), ResourceExhausted (no memory; nothing has changed), Internal
  // (already_buffered, but the gradient is not here).
  void Push(BlockPush push, BlockCallback done);

  // Applies the reduced update of `batch`. `scale` results from the sums of squares of all blocks.
  // Sets applied_before in the reply to a repeated call. Errors: FailedPrecondition (frozen block;
  // the update is not reduced), ResourceExhausted (no memory; nothing has changed).
  BlockReply ApplyUpdate(int64_t batch, float scale);
  // The same. If the block has replicas, it answers when they have received the update.
  void ApplyUpdate(int64_t batch, float scale, BlockCallback done);

  // The replicas have received the update of `batch`, its first; or not, with an error. Then the
  // calls that wait for it are answered with Unavailable, and each repetition tries again.
  void Replicated(int64_t batch, const absl::Status& status);

  // Computes the state after the reduced update, for early pulls, while it is on the way to the
  // replicas. Replicated() would do it otherwise, and reports if there is no memory.
  void ComputeAhead();

  // A replica receives an update. Repetitions change nothing. FailedPrecondition: an update between
  // this one and those that were received is missing. ResourceExhausted: no memory; the update was
  // not received.
  absl::Status Receive(ReducedBlock update);

  // For a block of a replicated job.
  ReplicatedState Replicas() const;

  // Applies all further updates with these rates.
  void SetRates(std::shared_ptr<const storage::RateChanges> rates) { rates_ = std::move(rates); }

  // Answers all parked calls, and all further calls, with `why`.
  void Close(const absl::Status& why);

 private:
  // The last update whose gradients were reduced.
  struct Reduced {
    int64_t update = -1;
    bool open = false;         // Not applied yet. Not of a replica.
    BlockBuffer mean;          // While it is open. Null: no batch has a gradient.
    float scale = 1;           // Of a replicated update.
    nn::SquareSum square_sum;  // If norms of updates are clipped.
  };
  struct ParkedPush {
    bool want_values = false;
    bool duplicate = false;
    BlockCallback done;  // Null: no push of this batch is parked.
  };

  Consistency::Answer MayPull(const ParkedPulls::Pull& pull) const;
  // Whether the state after the reduced update answers the pull.
  bool WantsNext(const ParkedPulls::Pull& pull) const;
  void Answer(Consistency::Answer answer, ParkedPulls::Pull pull);
  void Park(ParkedPulls::Pull pull);
  void DropAbandonedPulls();
  void AnswerReadyPulls();
  BlockReply PushReply(int64_t batch, bool want_values, bool duplicate) const;

  absl::Status CheckPush() const;
  absl::Status CheckGradient(const BlockBuffer& gradient) const;
  absl::Status CheckReduced(int64_t batch) const;
  void PushAtOnce(BlockPush push, bool is_new, BlockCallback done);
  void PushToUpdate(BlockPush push, BlockCallback done);
  void ParkPush(ParkedPush push, int64_t place);
  void AnswerReduced(BlockPush push, BlockCallback done);
  void FinishUpdate(int64_t update);
  void Replicate(float scale);
  void AnswerParked(const absl::Status& status);
  void KeepReduced(int64_t update, BlockBuffer mean);
  absl::Status ApplyReduced(float scale);
  absl::Status ComputeNext();
  void TakeNext();
  void CloseReduced();
  std::optional<float> RateOf(int64_t batch) const;
  absl::Status Apply(int64_t batch, const BlockBuffer& gradient, float scale,
                     BlockState* state) const;

  const JobLayout& layout_;
  const Consistency& consistency_;
  const BlockSpec& spec_;
  const int position_;
  const UpdateRule& rule_;
  const Options options_;

  BlockState state_;
  std::shared_ptr<const storage::RateChanges> rates_;  // Null: none.
  ParkedPulls parked_pulls_;
  absl::Status closed_;

  // Synchronous only.
  GradientAccumulator accumulator_;
  int64_t accumulating_ = -1;              // The update that accumulator_ was started for.
  std::vector<ParkedPush> parked_pushes_;  // By the batch's place in that update.
  Reduced reduced_;
  BlockBuffer previous_values_;
  int64_t previous_version_ = 0;
  BlockBuffer previous_slots_;  // Only if the block has replicas.
  // Replicated jobs: the state after the reduced update.
  std::optional<BlockState> next_;
  bool replicating_ = false;  // The reduced update was passed on and not answered.
  struct ParkedApply {
    int64_t batch = 0;
    BlockCallback done;
  };
  std::vector<ParkedApply> parked_applies_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_BLOCK_H_
