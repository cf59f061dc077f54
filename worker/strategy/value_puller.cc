#include "worker/strategy/value_puller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::worker {
namespace {

constexpr std::chrono::milliseconds kAskInterval(50);
// Of the requests to one ps that may have to wait there. Each has 1 to 2 MiB.
constexpr size_t kInFlightMax = 4;

}  // namespace

absl::StatusOr<PullResult> ValuePuller::Pull(const proto::PullHeader& header,
                                             const std::vector<BlockTable::Request>& requests,
                                             Destination destination,
                                             absl::FunctionRef<bool()> should_abandon) {
  {
    MutexLock lock(&mutex_);
    outstanding_ = static_cast<int>(requests.size());
    applied_ = false;
    error_ = absl::OkStatus();
    shares_.clear();
    for (const BlockTable::Request& request : requests) {
      shares_[request.ps].unsent.push_back(&request);
    }
    for (auto& [ps, share] : shares_) {
      const bool may_wait = header.source_case() == proto::PullHeader::kBatch;
      share.in_flight_max = may_wait && share.unsent.size() > kInFlightMax
                                ? 1
                                : static_cast<int>(share.unsent.size());
    }
  }
  // Waits for all replies even after a cancellation: until then the client may write to the
  // destinations.
  bool abandoned = false;
  bool cancelled = false;
  while (true) {
    for (const BlockTable::Request* request : TakeSendable()) Send(header, *request, destination);
    if (WaitForReplies()) break;
    abandoned = abandoned || (!CanStop() && should_abandon());
    if (!cancelled && (abandoned || CanStop())) {
      cancelled = true;
      DropUnsent();
      client_->Cancel(group_);
    }
  }
  // In this order: requests that were cancelled because the result was known report errors too.
  MutexLock lock(&mutex_);
  if (applied_) return PullResult::kApplied;
  if (abandoned) return PullResult::kAbandoned;
  if (!error_.ok()) return error_;
  return PullResult::kValues;
}

bool ValuePuller::AnySendable() const {
  return std::any_of(shares_.begin(), shares_.end(), [](const auto& entry) {
    const Share& share = entry.second;
    return !share.unsent.empty() && share.in_flight < share.in_flight_max;
  });
}

std::vector<const BlockTable::Request*> ValuePuller::TakeSendable() {
  std::vector<const BlockTable::Request*> sendable;
  MutexLock lock(&mutex_);
  for (auto& [ps, share] : shares_) {
    for (; !share.unsent.empty() && share.in_flight < share.in_flight_max; ++share.in_flight) {
      sendable.push_back(share.unsent.front());
      share.unsent.pop_front();
    }
  }
  return sendable;
}

void ValuePuller::DropUnsent() {
  MutexLock lock(&mutex_);
  for (auto& [ps, share] : shares_) {
    outstanding_ -= static_cast<int>(share.unsent.size());
    share.unsent.clear();
  }
}

void ValuePuller::Send(const proto::PullHeader& header, const BlockTable::Request& request,
                       Destination destination) {
  proto::PullHeader own = header;
  std::vector<absl::Span<float>> destinations;
  for (uint32_t block : request.blocks) {
    own.add_blocks(block);
    destinations.push_back(destination(block));
  }
  client_->Pull(
      request.ps, std::move(own), std::move(destinations),
      [this, &request](absl::StatusOr<proto::PullReplyHeader> reply) {
        OnReply(request, std::move(reply));
      },
      group_);
}

void ValuePuller::OnReply(const BlockTable::Request& request,
                          absl::StatusOr<proto::PullReplyHeader> reply) {
  MutexLock lock(&mutex_);
  if (reply.ok() && reply->batch_applied()) {
    applied_ = true;
  } else if (reply.ok() && reply->versions_size() != static_cast<int>(request.blocks.size())) {
    error_ = absl::InternalError(absl::StrCat("ps ", request.ps, " answered a pull of ",
                                              request.blocks.size(), " blocks with ",
                                              reply->versions_size(), " versions"));
  } else if (!reply.ok() && error_.ok()) {
    error_ = reply.status();
  }
  --outstanding_;
  Share& share = shares_.at(request.ps);
  --share.in_flight;
  // The values of the batch exist on this ps; at least most of them.
  share.in_flight_max = std::max(share.in_flight_max, static_cast<int>(kInFlightMax));
  changed_.NotifyAll();
}

bool ValuePuller::CanStop() {
  MutexLock lock(&mutex_);
  return applied_ || !error_.ok();
}

bool ValuePuller::WaitForReplies() {
  MutexLock lock(&mutex_);
  const auto until = std::chrono::steady_clock::now() + kAskInterval;
  while (outstanding_ > 0 && !woken_ && !AnySendable()) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left.count() <= 0) return false;
    changed_.WaitFor(&mutex_, left);
    if (applied_ || !error_.ok()) break;
  }
  woken_ = false;
  return outstanding_ == 0;
}

void ValuePuller::Wake() {
  MutexLock lock(&mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

}  // namespace cairn::worker
