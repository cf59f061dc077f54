#ifndef CAIRN_PARAMETERS_BLOCKS_BLOCK_REPLY_H_
#define CAIRN_PARAMETERS_BLOCKS_BLOCK_REPLY_H_

#include <cstdint>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "nn/optimizers/square_sum.h"
#include "parameters/blocks/block_buffer.h"

namespace cairn::parameters {

// The reply of one block to a pull or a push.
struct BlockReply {
  absl::Status status;
  // Null if no values were requested or none are available.
  BlockBuffer values;
  // The version of `values`: the number of updates applied to them.
  int64_t version = 0;
  // For a push: the batch had been applied already, and the block is unchanged. For a pull: the
  // batch's update has been applied, and the values before it no longer exist.
  bool applied_before = false;
  // For a push that asked for it: the gradient is buffered, and its update is not applied yet.
  bool buffered = false;
  // For a push, if norms of updates are clipped: the sum of squares of the batch's update. Absent
  // if all blocks of the cluster have applied this update.
  std::optional<nn::SquareSum> square_sum;
};

// Called exactly once, on the block's owner thread (or on the thread that destroys the block). Must
// not block and must not call the block.
using BlockCallback = absl::AnyInvocable<void(BlockReply)>;

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_BLOCK_REPLY_H_
