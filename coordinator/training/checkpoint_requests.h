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

// The clients that wait for a checkpoint. A request starts out open and becomes made when a
// checkpoint with its reason exists whose cut was taken after the request; it is answered once the
// copies of that checkpoint are finished. Callbacks run through the outbox. Not thread-safe.
class CheckpointRequests {
 public:
  // `reason`: as in Manifest.reason, "asked" or "stop".
  void Add(const std::string& reason, CheckpointCallback callback) {
    requests_.push_back({reason, std::move(callback), false, std::nullopt});
  }
  // The reason of the oldest open request.
  std::optional<std::string> NextReason() const;

  // Whether a request with this reason is open.
  bool Awaited(const std::string& reason) const;
  // Removes open requests with this reason without answering them.
  void Withdraw(const std::string& reason);

  // A cut with this reason is kept: its checkpoint has what the requests of now ask for. It lacks
  // what is trained before later ones.
  void Kept(const std::string& reason);
  // Assigns an existing checkpoint to the open requests that its cut was kept for.
  void Made(const proto::Manifest& manifest);
  // The copies of this checkpoint are finished: answers its requests.
  void Complete(const proto::Manifest& manifest, Outbox* outbox);
  // A checkpoint could not be made: answers all open requests with the error.
  void Failed(const absl::Status& why, Outbox* outbox);
  // Answers every request: with its checkpoint if that exists, else with `why`.
  void Abandon(const absl::Status& why, Outbox* outbox);

 private:
  struct Request {
    std::string reason;
    CheckpointCallback callback;
    bool kept = false;
    std::optional<proto::Manifest> made;

    bool Awaits(const std::string& wanted) const { return !made.has_value() && reason == wanted; }
  };

  static void Answer(Request* request, absl::StatusOr<proto::Manifest> result, Outbox* outbox);

  std::vector<Request> requests_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINT_REQUESTS_H_
