#ifndef CAIRN_CLUSTER_PS_CLIENT_H_
#define CAIRN_CLUSTER_PS_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cluster/data_server.h"
#include "cluster/frame.h"
#include "proto/parameter_server.pb.h"

namespace cairn::cluster {

struct PsClientOptions {
  std::vector<std::string> addresses;  // Of all ps, by index.
  uint64_t cluster_id = 0;             // From the coordinator's Welcome or SubmitReply.
  std::string sender;                  // "worker 3", "cairn".
  // Of one attempt. A parked pull may take longer; it is then repeated.
  absl::Duration attempt_timeout = absl::Seconds(30);
  absl::Duration first_delay = absl::Milliseconds(20);
  absl::Duration max_delay = absl::Seconds(1);
  absl::Duration ping_timeout = absl::Seconds(5);  // Of one attempt.
  // Tensors of a ps on this machine travel through shared memory; false: over TCP, as all others.
  bool share_memory = true;
  // The ps of this process, if it has one. Calls to it are function calls: nothing is encoded, and
  // each tensor is copied once.
  struct Own {
    int ps = -1;
    std::shared_ptr<DataServer> server;
  };
  Own own = {};
};

// A block's record in a snapshot: header_bytes of header, then the payload.
struct FetchedRecord {
  uint32_t block = 0;
  size_t header_bytes = 0;
  std::string bytes;
};

// Calls to the parameter servers, asynchronous, on one thread of its own. Attempts that fail with
// a transient error (IsTransient) are repeated, with back-off, until they succeed or are cancelled:
// the ledgers make that safe. Everything else (FAILED_PRECONDITION: wrong job, generation or
// cluster) is the result at once. Thread-safe.
//
// If an attempt times out and the ps has answered nothing meanwhile, or ends with an error that the
// ps has not sent, the next one uses a new connection: damaged bytes may have spoiled the old one.
//
// Callbacks run on the client's thread, exactly once for each call, and must not block; they may
// start other calls. Destinations must stay valid until then; pieces as FramePiece says.
//
// Where a ps runs on this machine, tensors travel in memory shared with it, and only heads over
// TCP. An attempt that fails is repeated over TCP alone, so nothing but speed depends on it.
class PsClient {
 public:
  using PullCallback = absl::AnyInvocable<void(absl::StatusOr<proto::PullReplyHeader>)>;
  using PushCallback = absl::AnyInvocable<void(absl::StatusOr<proto::PushReplyHeader>)>;
  using UploadCallback = absl::AnyInvocable<void(absl::StatusOr<proto::UploadReplyHeader>)>;
  using FetchCallback = absl::AnyInvocable<void(absl::StatusOr<std::vector<FetchedRecord>>)>;
  // Calls that are cancelled together. The caller chooses the number; the largest is that of pings.
  using Group = uint64_t;

  explicit PsClient(const PsClientOptions& options);
  // Cancels all calls and waits for their callbacks. Not on the client's thread.
  ~PsClient();
  PsClient(const PsClient&) = delete;
  PsClient& operator=(const PsClient&) = delete;

  int ps_count() const;
  // -1: there is no ps in this process.
  int own_ps() const;

  struct Silence {
    int ps = 0;
    absl::Duration duration;
  };
  // The ps that have answered nothing since a request to them had no answer, ascending. A silent ps
  // is pinged until it answers, so a parked request does not make it silent, and the end of a
  // request does not end the silence.
  std::vector<Silence> Silences() const;
  // Nullopt if none is silent.
  std::optional<Silence> LongestSilence() const;

  // Asks a ps whether it answers; see Silences.
  void Ping(int ps);

  // `header` without its envelope. One destination for each of header.blocks, of the block's size.
  // They are written unless the result is batch_applied; what they hold counts only if it is OK.
  void Pull(int ps, proto::PullHeader header, std::vector<absl::Span<float>> destinations,
            PullCallback callback, Group group = 0);

  // One piece for each of header.blocks (none if they are already buffered); with want_values one
  // destination for each, else none.
  void Push(int ps, proto::PushHeader header, std::vector<FramePiece> pieces,
            std::vector<absl::Span<float>> destinations, PushCallback callback, Group group = 0);

  // One piece for each of header.blocks.
  void Upload(int ps, proto::UploadHeader header, std::vector<FramePiece> pieces,
              UploadCallback callback, Group group = 0);

  // Records of the first of header.blocks, at least one, in their order.
  void Fetch(int ps, proto::FetchHeader header, FetchCallback callback, Group group = 0);

  // Every call of the group, or every call, that has not ended gets CANCELLED, at once even if its
  // ps does not answer. Later calls are not affected. Does not wait.
  void Cancel(Group group);
  void CancelAll();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_PS_CLIENT_H_
