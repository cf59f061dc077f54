#ifndef CAIRN_COORDINATOR_HISTORY_STREAM_H_
#define CAIRN_COORDINATOR_HISTORY_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// A GetHistory call. Reads the journal chunk by chunk at the pace of the client; the last chunk has
// the evaluations. Owns itself as long as gRPC needs it. Thread-safe.
class HistoryStream final : public grpc::ServerWriteReactor<proto::HistoryChunk> {
 public:
  static std::shared_ptr<HistoryStream> Start(const storage::Journal* journal);

  // Call once, with the job or the reason why there is none. Does not read the journal; gRPC's
  // threads do, so the control loop never waits for the disk.
  void Begin(absl::StatusOr<uint64_t> job_id);

  void OnSendInitialMetadataDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

 private:
  explicit HistoryStream(const storage::Journal* journal) : journal_(journal) {}

  absl::Status ReadHeader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadChunk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const storage::Journal* const journal_;
  Mutex mutex_;
  uint64_t job_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_batch_ ABSL_GUARDED_BY(mutex_) = 0;
  bool last_ ABSL_GUARDED_BY(mutex_) = false;  // `chunk_` is the last one.
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  proto::HistoryChunk header_ ABSL_GUARDED_BY(mutex_);  // The start of every chunk.
  proto::HistoryChunk evaluations_ ABSL_GUARDED_BY(mutex_);
  proto::HistoryChunk chunk_ ABSL_GUARDED_BY(mutex_);  // Being written.
  std::shared_ptr<HistoryStream> self_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_HISTORY_STREAM_H_
