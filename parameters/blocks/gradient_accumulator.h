#ifndef CAIRN_PARAMETERS_BLOCKS_GRADIENT_ACCUMULATOR_H_
#define CAIRN_PARAMETERS_BLOCKS_GRADIENT_ACCUMULATOR_H_

#include <cstdint>
#include <map>

#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/gradient_budget.h"

namespace cairn::parameters {

// Computes the mean gradient of one synchronous update of one block: sum(n_i g_i) / sum(n_i) over
// its batches i with n_i examples, as if they were one large batch. Batches arrive in any order and
// are reduced in the order of their numbers, so the bits of the mean do not depend on the order of
// arrival. The mean of a single batch is its gradient, exactly.
//
// Memory: one gradient for the sum, and one for each batch that arrived before a lower one. The
// latter are counted in the budget. The lowest missing batch needs no memory and is always taken,
// so an update completes however small the budget is.
//
// Not thread-safe.
class GradientAccumulator {
 public:
  // What a batch without a gradient means.
  enum class Absent {
    kZero,     // Its gradient is zero: its examples count.
    kNothing,  // It is excluded from the mean (moving statistics).
  };

  // `budget` must outlive it; null: no bound.
  explicit GradientAccumulator(Absent absent, GradientBudget* budget = nullptr)
      : absent_(absent), budget_(budget) {}
  ~GradientAccumulator() { Clear(); }
  GradientAccumulator(const GradientAccumulator&) = delete;
  GradientAccumulator& operator=(const GradientAccumulator&) = delete;

  // Begins an update of `batches` batches and drops what is there.
  void Start(int64_t batches);

  // `position` is the batch's place in the update, counted from 0.
  bool Has(int64_t position) const;
  bool complete() const { return next_ == batches_; }
  // The lowest position that is missing.
  int64_t next() const { return next_; }

  // Takes the batch's gradient, to which no other reference exists; null: the batch has none. The
  // position is in the update and was not added before. `examples` is at least 1, or 0 for a batch
  // that is excluded from the mean and has no gradient. False: the batch is not the next one and
  // the budget is used up; nothing has changed.
  bool TryAdd(int64_t position, int64_t examples, BlockBuffer gradient);

  // When complete: the mean, null if no batch had a gradient. Call Start next.
  BlockBuffer TakeMean();

 private:
  struct Contribution {
    int64_t examples = 0;
    BlockBuffer gradient;
  };

  void Clear();
  bool TryReserve(const BlockBuffer& gradient);
  void Release(const BlockBuffer& gradient);
  void Reduce(Contribution contribution);

  const Absent absent_;
  GradientBudget* const budget_;
  int64_t batches_ = 0;
  // All positions below are reduced into sum_; those above that have arrived wait for their turn.
  int64_t next_ = 0;
  std::map<int64_t, Contribution> waiting_;
  // The first gradient as it came while it is the only one, otherwise the sum of n_i g_i.
  BlockBuffer sum_;
  int64_t first_examples_ = 0;
  int64_t gradients_ = 0;
  int64_t examples_ = 0;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_GRADIENT_ACCUMULATOR_H_
