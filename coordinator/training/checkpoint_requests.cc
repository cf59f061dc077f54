#include "coordinator/training/checkpoint_requests.h"

#include <algorithm>
#include <utility>

namespace cairn::coordinator {

std::optional<std::string> CheckpointRequests::NextReason() const {
  for (const Request& request : requests_) {
    if (!request.made.has_value()) return request.reason;
  }
  return std::nullopt;
}

bool CheckpointRequests::Awaited(const std::string& reason) const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [&](const Request& request) { return request.Awaits(reason); });
}

void CheckpointRequests::Withdraw(const std::string& reason) {
  std::erase_if(requests_, [&](const Request& request) { return request.Awaits(reason); });
}

void CheckpointRequests::Kept(const std::string& reason) {
  for (Request& request : requests_) request.kept |= request.Awaits(reason);
}

void CheckpointRequests::Made(const proto::Manifest& manifest) {
  for (Request& request : requests_) {
    if (request.kept && request.Awaits(manifest.reason())) request.made = manifest;
  }
}

void CheckpointRequests::Complete(const proto::Manifest& manifest, Outbox* outbox) {
  std::erase_if(requests_, [&](Request& request) {
    if (!request.made.has_value() || request.made->checkpoint() != manifest.checkpoint()) {
      return false;
    }
    Answer(&request, manifest, outbox);
    return true;
  });
}

void CheckpointRequests::Failed(const absl::Status& why, Outbox* outbox) {
  std::erase_if(requests_, [&](Request& request) {
    if (request.made.has_value()) return false;
    Answer(&request, why, outbox);
    return true;
  });
}

void CheckpointRequests::Abandon(const absl::Status& why, Outbox* outbox) {
  for (Request& request : requests_) {
    if (request.made.has_value()) {
      Answer(&request, *request.made, outbox);
    } else {
      Answer(&request, why, outbox);
    }
  }
  requests_.clear();
}

void CheckpointRequests::Answer(Request* request, absl::StatusOr<proto::Manifest> result,
                                Outbox* outbox) {
  outbox->replies.push_back(
      [callback = std::move(request->callback), result = std::move(result)]() mutable {
        callback(std::move(result));
      });
}

}  // namespace cairn::coordinator
