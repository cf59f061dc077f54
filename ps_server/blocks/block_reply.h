#ifndef CAIRN_PS_SERVER_BLOCKS_BLOCK_REPLY_H_
#define CAIRN_PS_SERVER_BLOCKS_BLOCK_REPLY_H_

#include <cstdint>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "nn/optimizers/square_sum.h"
#include "ps_server/blocks/block_buffer.h"

namespace cairn::ps {

// What one block says to a pull or a push.
struct BlockReply {
  absl::Status status;
  // Null if none were asked for, or there are none to give.
  BlockBuffer values;
  // Of the values: how many updates they have seen.
  int64_t version = 0;
  // To a push: the block had this batch already, and has not changed. To a pull: the batch's update
  // is in and the values from before it are gone.
  bool settled_before = false;
  // To a push that asked for it: the gradient is buffered, its update is not applied yet.
  bool buffered = false;
  // To a push, where norms of updates are clipped: of the batch's update. Nothing: that is in on
  // every block of the cluster.
  std::optional<nn::SquareSum> square_sum;
};

// Called exactly once, on the block's owner thread (or on the thread that destroys the block). Must
// not block and must not call the block.
using BlockCallback = absl::AnyInvocable<void(BlockReply)>;

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_BLOCK_REPLY_H_
