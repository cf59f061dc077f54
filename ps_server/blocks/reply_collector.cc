#include "ps_server/blocks/reply_collector.h"

#include <utility>

#include "common/check.h"

namespace cairn::ps {

ReplyCollector* ReplyCollector::Create(size_t count, RepliesCallback done) {
  CAIRN_CHECK(count > 0);
  return new ReplyCollector(count, std::move(done));
}

ReplyCollector::ReplyCollector(size_t count, RepliesCallback done)
    : replies_(count), missing_(count), done_(std::move(done)) {}

BlockCallback ReplyCollector::CallbackFor(size_t index) {
  return [this, index](BlockReply reply) { Add(index, std::move(reply)); };
}

void ReplyCollector::Add(size_t index, BlockReply reply) {
  replies_[index] = std::move(reply);
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  done_(std::move(replies_));
  delete this;
}

}  // namespace cairn::ps
