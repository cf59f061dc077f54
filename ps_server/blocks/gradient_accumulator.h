#ifndef CAIRN_PS_SERVER_BLOCKS_GRADIENT_ACCUMULATOR_H_
#define CAIRN_PS_SERVER_BLOCKS_GRADIENT_ACCUMULATOR_H_

#include <cstdint>
#include <map>

#include "ps_server/blocks/block_buffer.h"

namespace cairn::ps {

// Makes the mean gradient of one synchronous update of one block: sum(n_i g_i) / sum(n_i) over its
// batches i with n_i examples, as if they were one large batch. Batches come in any order and are
// folded in the order of their numbers, so the bits of the mean depend on nothing else; the mean
// of a single batch is its gradient, exactly. Not thread-safe.
class GradientAccumulator {
 public:
  // What a batch without a gradient means.
  enum class Absent {
    kZero,     // its gradient is zero: its examples count
    kNothing,  // it has no say (moving statistics)
  };

  explicit GradientAccumulator(Absent absent) : absent_(absent) {}

  // Begins an update of `batches` batches, forgetting what is there.
  void Start(int64_t batches);

  // `position` counts the update's batches from 0.
  bool Has(int64_t position) const;
  bool complete() const { return next_ == batches_; }

  // Takes over the batch's gradient, which nobody else may hold; null: it has none. The batch is
  // one of this update, was not added before, and has examples >= 1.
  void Add(int64_t position, int64_t examples, BlockBuffer gradient);

  // When complete: the mean, null if no batch had a gradient. Afterwards Start again.
  BlockBuffer TakeMean();

 private:
  struct Contribution {
    int64_t examples = 0;
    BlockBuffer gradient;
  };

  void Fold(Contribution contribution);

  const Absent absent_;
  int64_t batches_ = 0;
  // All positions below are folded into sum_; those above that have come wait for their turn.
  int64_t next_ = 0;
  std::map<int64_t, Contribution> waiting_;
  // The first gradient as it came while it is the only one, otherwise the sum of n_i g_i.
  BlockBuffer sum_;
  int64_t first_examples_ = 0;
  int64_t gradients_ = 0;
  int64_t examples_ = 0;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_GRADIENT_ACCUMULATOR_H_
