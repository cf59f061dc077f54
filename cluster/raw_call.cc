#include "cluster/raw_call.h"

#include <utility>

#include "common/check.h"

namespace cairn::cluster {

RawCall::RawCall(DataMethod method, Frame request, std::string peer, Done done,
                 IsCancelled cancelled)
    : method_(method),
      request_(std::move(request)),
      peer_(std::move(peer)),
      done_(std::move(done)),
      cancelled_(std::move(cancelled)) {
  CAIRN_CHECK(done_ != nullptr);
}

RawCall::~RawCall() {
  if (done_ != nullptr) done_(absl::UnavailableError("the call was dropped; try again"));
}

void RawCall::Reply(Frame reply) {
  CAIRN_CHECK(done_ != nullptr);  // A call is answered only once.
  std::exchange(done_, nullptr)(std::move(reply));
}

void RawCall::Fail(const absl::Status& status) {
  CAIRN_CHECK(done_ != nullptr && !status.ok());
  std::exchange(done_, nullptr)(status);
}

bool RawCall::cancelled() const { return cancelled_ != nullptr && cancelled_(); }

}  // namespace cairn::cluster
