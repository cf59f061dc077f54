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
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/parked_pulls.h"
#include "ps_server/blocks/rate_changes.h"
#include "ps_server/blocks/service_profile.h"
#include "ps_server/blocks/update_rule.h"

namespace cairn::ps {

// One batch's gradient for one block.
struct BlockPush {
  int64_t batch = 0;     // In [0, total_batches).
  int64_t examples = 1;  // In the batch, >= 1.
  // Of the block's size, with no other reference to it; null: the batch has no gradient here, and
  // only settles.
  BlockBuffer gradient;
  bool want_values = false;
};

// A block at work: the unit of everything on a ps. It answers pulls when the job's consistency
// allows, applies each batch exactly once, and lets nobody see it change. One thread owns it; all
// calls come from there.
//
// Asynchronous and stale: a push is applied at once and then acknowledged. Synchronous: pushes wait
// for the rest of their update, then one step applies their mean, settles them all and acknowledges
// all; the values from before stay until the first push for the next update comes, which proves
// that the update is in on every block of the cluster. One push of a batch waits at most, the last
// that came: its sender may have asked for it again because the answer was too long in coming.
//
// Where norms of updates are clipped an update takes two steps. When it is folded, its pushes are
// answered with the sum of squares of the mean, and nothing has changed yet; ApplyUpdate does the
// rest. The sum can be asked for, by pushing again, until the next update is folded.
class Block {
 public:
  struct Options {
    // A fault for tests, which must find it: repeated pushes are applied again.
    bool unsafe_disable_ledger = false;
    // Outlives the block; null: nobody profiles.
    ServiceProfile* profile = nullptr;
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

  // Answers once the batch is settled, with the values afterwards if they are wanted. Errors:
  // Unavailable (the same batch came again and waits now in its place),
  // FailedPrecondition (frozen block; an update that cannot be due yet), OutOfRange (too far ahead
  // of the ledger), ResourceExhausted (no memory; nothing has changed).
  void Push(BlockPush push, BlockCallback done);

  // The second step of the batch's update, with the scale that follows from the sums of all blocks.
  // Answers at once, and to a repetition that it was settled before. Errors: FailedPrecondition
  // (frozen block; the update is not folded), ResourceExhausted (no memory; nothing has changed).
  BlockReply ApplyUpdate(int64_t batch, float scale);

  // What is applied from now on is applied with these rates.
  void SetRates(std::shared_ptr<const RateChanges> rates) { rates_ = std::move(rates); }

  // Answers everything that waits, and from now on every call, with `why`.
  void Close(const absl::Status& why);

 private:
  // The last update that was folded, where norms are clipped.
  struct Folded {
    int64_t update = -1;
    bool open = false;  // Not applied yet.
    BlockBuffer mean;   // While it is open; null: no batch has a gradient.
    nn::SquareSum square_sum;
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
  void FinishUpdate(int64_t update);
  void KeepFolded(int64_t update, BlockBuffer mean);
  absl::Status ApplyMean(int64_t update, const BlockBuffer& mean, float scale);
  void Settle(int64_t batch);
  std::optional<float> RateOf(int64_t batch) const;
  absl::Status Apply(int64_t batch, const BlockBuffer& gradient, float scale = 1);

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
  Folded folded_;
  BlockBuffer previous_values_;
  int64_t previous_version_ = 0;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_BLOCK_H_
