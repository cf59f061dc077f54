#ifndef CAIRN_WORKER_STRATEGY_UPDATE_NORMS_H_
#define CAIRN_WORKER_STRATEGY_UPDATE_NORMS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nn/model.h"
#include "nn/optimizers/gradient_clip.h"
#include "nn/optimizers/square_sum.h"
#include "proto/parameter_server.pb.h"
#include "worker/strategy/block_table.h"

namespace cairn::worker {

// A worker's part in clipping the norms of updates that several batches make: from the sums of
// squares that the ps find in an update's blocks to what each block is multiplied with. A pure
// function of these sums: whichever worker of the update is first, it says the same. Thread-safe.
class UpdateNorms {
 public:
  // What is known of one update.
  struct Sums {
    std::vector<nn::SquareSum> of_variables;
    // It is in already, everywhere: the sums are not complete and nothing is left to do.
    bool settled = false;
  };

  // `model` and `table` must outlive it.
  UpdateNorms(const nn::GradientClip& clip, const nn::Model* model, const BlockTable* table)
      : clip_(clip), model_(*model), table_(*table) {}

  Sums None() const { return {std::vector<nn::SquareSum>(table_.variable_count())}; }

  // Adds what a ps answered to a push of these blocks, with a gradient and without. INTERNAL: the
  // reply is not one to these blocks.
  absl::Status Add(absl::Span<const uint32_t> blocks, const proto::PushReplyHeader& reply,
                   Sums* sums) const;

  // By ps, for all blocks that are pushed, when the replies of all of them were added. Moving
  // statistics neither count nor are scaled.
  std::vector<proto::UpdateScales> Scales(const Sums& sums) const;

 private:
  const nn::GradientClip clip_;
  const nn::Model& model_;
  const BlockTable& table_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_UPDATE_NORMS_H_
