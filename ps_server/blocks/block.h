#ifndef CAIRN_PS_SERVER_BLOCKS_BLOCK_H_
#define CAIRN_PS_SERVER_BLOCKS_BLOCK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nn/optimizers/square_sum.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/block_reply.h"
#include "ps_server/blocks/gradient_accumulator.h"
#include "ps_server/blocks/gradient_budget.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/parked_pulls.h"
#include "ps_server/blocks/rate_changes.h"
#include "ps_server/blocks/service_profile.h"
#include "ps_server/blocks/update_rule.h"

namespace cairn::ps {

// One batch's gradient for one block, from its decoding until it is applied or reduced.
struct BlockPush {
  int position = 0;      // Of the block in the layout.
  int64_t batch = 0;     // In [0, total_batches).
  int64_t examples = 1;  // In the batch, >= 1.
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

// A block at work: the unit of everything on a ps. It answers pulls when the job's consistency
// allows, applies each batch exactly once, and lets nobody see it change. One thread owns it; all
// calls come from there.
//
// Asynchronous and stale: a push is applied at once and then acknowledged.
//
// Synchronous: pushes wait for the rest of their update. Then one step applies their mean, marks
// all of the update's batches in the ledger and acknowledges all pushes. The values from before
// stay until the first push for the next update arrives, which proves that every block of the
// cluster has the update. At most one push of a batch waits, the last that arrived: its sender may
// have repeated it because the answer took too long. A sender that does not want to keep its
// gradient so long asks to be answered when it is buffered here, and then pushes the batch again
// without it (already_buffered) to learn when the update is applied. Gradients that arrive before
// those of a lower batch are buffered within a budget of bytes; beyond it they are refused with
// ResourceExhausted, and their senders try again.
//
// Where norms of updates are clipped an update takes two steps. When its gradients are reduced, its
// pushes are answered with the sum of squares of the mean, and no value has changed yet;
// ApplyUpdate does the rest. The sum can be asked for, by pushing again, until the next update is
// reduced.
class Block {
 public:
  struct Options {
    // A fault for tests, which must find it: repeated pushes are applied again.
    bool unsafe_disable_ledger = false;
    // Outlives the block; null: nobody profiles.
    ServiceProfile* profile = nullptr;
    // Of all blocks of this ps together; outlives the block. Null: no bound.
    GradientBudget* gradient_budget = nullptr;
  };

  // `layout` and `rule` must outlive it; `position` is the block's in the layout.
  Block(const JobLayout* layout, int position, const UpdateRule* rule, BlockState initial,
        const Options& options);
  // All calls must have been answered, or Close was called.
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const BlockSpec& spec() const { return spec_; }
  const BlockState& state() const { return state_; }

  // Answers with the values that the batch may be computed on, now or later. `pull.batch` is in
  // [0, total_batches). ResourceExhausted: it would have to wait, and may not.
  void Pull(ParkedPulls::Pull pull);

  // Answers once the batch is applied (or buffered, if the push asks for that), with the values
  // afterwards if they are wanted. Errors: Unavailable (the same batch came again and waits now in
  // its place), FailedPrecondition (frozen block; an update that cannot be due yet), OutOfRange
  // (too far ahead of the ledger), ResourceExhausted (no memory; nothing has changed), Internal (it
  // says that it was buffered, and was not).
  void Push(BlockPush push, BlockCallback done);

  // The second step of the batch's update, with the scale that follows from the sums of all blocks.
  // Answers at once, and to a repetition that it was applied before. Errors: FailedPrecondition
  // (frozen block; the update is not reduced), ResourceExhausted (no memory; nothing has changed).
  BlockReply ApplyUpdate(int64_t batch, float scale);

  // What is applied from now on is applied with these rates.
  void SetRates(std::shared_ptr<const RateChanges> rates) { rates_ = std::move(rates); }

  // Answers everything that waits, and from now on every call, with `why`.
  void Close(const absl::Status& why);

 private:
  // The last update whose gradients were reduced.
  struct Reduced {
    int64_t update = -1;
    bool open = false;         // Not applied yet.
    BlockBuffer mean;          // While it is open; null: no batch has a gradient.
    nn::SquareSum square_sum;  // Where norms of updates are clipped.
  };
  struct ParkedPush {
    bool want_values = false;
    bool duplicate = false;
    BlockCallback done;  // Null: none has come.
  };

  void Answer(Consistency::Answer answer, ParkedPulls::Pull pull);
  void Park(ParkedPulls::Pull pull);
  void DropAbandonedPulls();
  void AnswerReadyPulls();
  BlockReply PushReply(int64_t batch, bool want_values, bool duplicate) const;

  absl::Status CheckPush() const;
  absl::Status CheckGradient(const BlockBuffer& gradient) const;
  void PushAtOnce(BlockPush push, bool is_new, BlockCallback done);
  void PushToUpdate(BlockPush push, BlockCallback done);
  void ParkPush(ParkedPush push, int64_t place);
  void AnswerReduced(BlockPush push, BlockCallback done);
  void FinishUpdate(int64_t update);
  void KeepReduced(int64_t update, BlockBuffer mean);
  absl::Status ApplyReduced(float scale);
  void MarkApplied(int64_t batch);
  std::optional<float> RateOf(int64_t batch) const;
  absl::Status Apply(int64_t batch, const BlockBuffer& gradient, float scale);

  const JobLayout& layout_;
  const Consistency& consistency_;
  const BlockSpec& spec_;
  const UpdateRule& rule_;
  const Options options_;

  BlockState state_;
  std::shared_ptr<const RateChanges> rates_;  // Null: none.
  ParkedPulls parked_pulls_;
  absl::Status closed_;

  // Synchronous only.
  GradientAccumulator accumulator_;
  int64_t accumulating_ = -1;              // The update that accumulator_ was started for.
  std::vector<ParkedPush> parked_pushes_;  // By the batch's place in that update.
  Reduced reduced_;
  BlockBuffer previous_values_;
  int64_t previous_version_ = 0;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_BLOCK_H_
