#ifndef CAIRN_PARAMETERS_BLOCKS_REPLY_COLLECTOR_H_
#define CAIRN_PARAMETERS_BLOCKS_REPLY_COLLECTOR_H_

#include <atomic>
#include <cstddef>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "parameters/blocks/block_reply.h"

namespace cairn::parameters {

// Receives the replies of all blocks of a request, in the order of the request.
using RepliesCallback = absl::AnyInvocable<void(std::vector<BlockReply>)>;

// Collects the replies of several blocks, which arrive on several threads, and passes them to a
// callback on the thread of the last one. Deletes itself after that.
class ReplyCollector {
 public:
  enum class OnError {
    kWaitForAll,
    // The first error is passed on at once, alone, and the other replies are dropped. For requests
    // that one block may refuse while another keeps its reply until the refused part has arrived.
    kAnswerAtOnce,
  };

  // Creates a collector for `count` >= 1 replies.
  static ReplyCollector* Create(size_t count, RepliesCallback done,
                                OnError on_error = OnError::kWaitForAll);

  // Returns the callback for reply `index`. Call it once for each index.
  BlockCallback CallbackFor(size_t index);

 private:
  ReplyCollector(size_t count, RepliesCallback done, OnError on_error);
  void Add(size_t index, BlockReply reply);

  std::vector<BlockReply> replies_;  // Each element is written by one thread.
  std::atomic<size_t> missing_;
  std::atomic<bool> answered_ = false;
  const OnError on_error_;
  RepliesCallback done_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_REPLY_COLLECTOR_H_
