#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINT_REQUESTS_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINT_REQUESTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/outbox.h"
#include "proto/checkpoint.pb.h"

namespace cairn::coordinator {

using CheckpointCallback = absl::AnyInvocable<void(absl::StatusOr<proto::Manifest>)>;

// Who waits for a checkpoint, and for which: one that still has to be made, or one that exists and
// is being copied. Callbacks are put into the outbox. Not thread-safe.
class CheckpointRequests {
 public:
  // `reason`: as Manifest.reason, "asked" or "stop".
  void Add(const std::string& reason, CheckpointCallback callback) {
    requests_.push_back({reason, std::move(callback), std::nullopt});
  }
  // Of the oldest for which a checkpoint still has to be made.
  std::optional<std::string> NextReason() const;

  // Whether somebody waits for one of this reason that still has to be made.
  bool Awaited(const std::string& reason) const;
  // Nobody waits any more for one of this reason that still has to be made. They are not answered.
  void Withdraw(const std::string& reason);

  // A checkpoint exists: it is the one for those with its reason.
  void Made(const proto::Manifest& manifest);
  // Nothing more happens to it: those who waited for it have it.
  void Complete(const proto::Manifest& manifest, Outbox* outbox);
  // One could not be made, which is told to all for whom none exists.
  void Failed(const absl::Status& why, Outbox* outbox);
  // All are answered: with the checkpoint if it exists, else with `why`.
  void Abandon(const absl::Status& why, Outbox* outbox);

 private:
  struct Request {
    std::string reason;
    CheckpointCallback callback;
    std::optional<proto::Manifest> made;

    bool Awaits(const std::string& wanted) const { return !made.has_value() && reason == wanted; }
  };

  static void Answer(Request* request, absl::StatusOr<proto::Manifest> result, Outbox* outbox);

  std::vector<Request> requests_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINT_REQUESTS_H_
