#include "parameters/blocks/reply_collector.h"

#include <utility>

#include "common/check.h"

namespace cairn::parameters {

ReplyCollector* ReplyCollector::Create(size_t count, RepliesCallback done, OnError on_error) {
  CAIRN_CHECK(count > 0);
  return new ReplyCollector(count, std::move(done), on_error);
}

ReplyCollector::ReplyCollector(size_t count, RepliesCallback done, OnError on_error)
    : replies_(count), missing_(count), on_error_(on_error), done_(std::move(done)) {}

BlockCallback ReplyCollector::CallbackFor(size_t index) {
  return [this, index](BlockReply reply) { Add(index, std::move(reply)); };
}

void ReplyCollector::Add(size_t index, BlockReply reply) {
  const bool ends_it = on_error_ == OnError::kAnswerAtOnce && !reply.status.ok();
  if (ends_it && !answered_.exchange(true)) {
    // Alone: other threads may be writing the other replies.
    std::vector<BlockReply> error;
    error.push_back(std::move(reply));
    done_(std::move(error));
  } else {
    replies_[index] = std::move(reply);
  }
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (!answered_) done_(std::move(replies_));
  delete this;
}

}  // namespace cairn::parameters
