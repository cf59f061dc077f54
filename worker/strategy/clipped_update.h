#ifndef CAIRN_WORKER_STRATEGY_CLIPPED_UPDATE_H_
#define CAIRN_WORKER_STRATEGY_CLIPPED_UPDATE_H_

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

// A worker's part in clipping updates of several batches by norm. The ps reduce an update and reply
// with the sum of squares of each block; this class computes the factor for each block from them.
// The factors are a pure function of the sums, so all workers of an update compute the same ones
// and the ps may take them from any of them.
//
//   Sums sums = norms.None(); norms.Add(blocks, reply, &sums) for every reply; norms.Scales(sums)
//
// Thread-safe; a Sums is not.
class ClippedUpdate {
 public:
  // The replies of one update so far.
  struct Sums {
    std::vector<nn::SquareSum> of_variables;
    // The update is applied already: the sums are incomplete and no scales are needed.
    bool applied = false;
  };

  // `model` and `table` must outlive the object.
  ClippedUpdate(const nn::GradientClip& clip, const nn::Model* model, const BlockTable* table)
      : clip_(clip), model_(*model), table_(*table) {}

  Sums None() const { return {std::vector<nn::SquareSum>(table_.variable_count())}; }

  // Adds the reply of a ps to a push of `blocks`, which include those without a gradient. Internal:
  // the reply does not match the blocks.
  absl::Status Add(absl::Span<const uint32_t> blocks, const proto::PushReplyHeader& reply,
                   Sums* sums) const;

  // The scales of all pushed blocks, by ps. Requires that the replies for all of them were added.
  // Moving statistics are neither counted nor scaled.
  std::vector<proto::UpdateScales> Scales(const Sums& sums) const;

 private:
  const nn::GradientClip clip_;
  const nn::Model& model_;
  const BlockTable& table_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_CLIPPED_UPDATE_H_
