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

// One update of several batches whose norm is clipped. No process has its whole gradient, so it
// takes two rounds: the ps reduce the update and reply with the sum of squares of each block, then
// a worker sends the scale of each block, which is computed here. The scales are a pure function of
// the sums, so all workers of an update compute the same ones and the ps may take them from any.
//
//   Add(blocks, reply) for every reply; then, unless applied(), Scales()
//
// A new object is an update without replies. Not thread-safe.
class ClippedUpdate {
 public:
  // `model` and `table` must outlive the object.
  ClippedUpdate(const nn::GradientClip& clip, const nn::Model* model, const BlockTable* table)
      : clip_(clip), model_(model), table_(table), sums_(table->variable_count()) {}

  // Adds the reply of a ps to a push of `blocks`, which include those without a gradient. Internal:
  // the reply does not match the blocks.
  absl::Status Add(absl::Span<const uint32_t> blocks, const proto::PushReplyHeader& reply);

  // Whether a ps has applied the update already, with the scales of another worker. The sums are
  // incomplete then, and no scales are needed.
  bool applied() const { return applied_; }

  // The scales of all pushed blocks, by ps. Requires that the replies for all of them were added.
  // Moving statistics are neither counted nor scaled.
  std::vector<proto::UpdateScales> Scales() const;

 private:
  nn::GradientClip clip_;
  const nn::Model* model_;
  const BlockTable* table_;
  std::vector<nn::SquareSum> sums_;  // By variable.
  bool applied_ = false;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_CLIPPED_UPDATE_H_
