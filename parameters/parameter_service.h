#ifndef CAIRN_PARAMETERS_PARAMETER_SERVICE_H_
#define CAIRN_PARAMETERS_PARAMETER_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cluster/frame.h"
#include "cluster/raw_call.h"
#include "common/thread_pool.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/reply_collector.h"
#include "parameters/blocks/service_profile.h"
#include "parameters/parameter_store.h"
#include "parameters/pushed_bytes.h"
#include "parameters/snapshots/snapshot_catalog.h"
#include "parameters/snapshots/upload_store.h"
#include "proto/parameter_server.pb.h"

namespace cairn::parameters {

// The data plane of a ps: decodes a call, checks that it is meant for this ps and that its sizes
// are right, hands it to the blocks and encodes their replies. Knows no rule of training.
// Thread-safe. Must be destroyed after the calls that it was given were answered (ParameterStore
// dropped, server shut down).
class ParameterService {
 public:
  // None of them is owned. What has to wait for the disk waits on a thread of the service's own.
  struct Parts {
    uint32_t ps = 0;
    ParameterStore* store = nullptr;
    UploadStore* uploads = nullptr;
    const SnapshotCatalog* catalog = nullptr;
    BufferPool* pool = nullptr;
    ServiceProfile* profile = nullptr;  // Null: nobody profiles.
    // Of the gradients that no block has taken yet; half of them of one connection.
    int64_t pushed_bytes_max = int64_t{1} << 30;
  };

  explicit ParameterService(const Parts& parts);
  ParameterService(const ParameterService&) = delete;
  ParameterService& operator=(const ParameterService&) = delete;

  // Known once the coordinator has welcomed this task; until then calls are answered UNAVAILABLE.
  void set_cluster_id(uint64_t cluster_id);

  // Answers the call, now or later. Does not block.
  void Handle(std::unique_ptr<cluster::RawCall> call);

 private:
  using Call = std::unique_ptr<cluster::RawCall>;

  absl::Status CheckEnvelope(const proto::Envelope& envelope) const;

  // Each answers the call or keeps it for later, or returns an error and leaves it unanswered.
  // `room` is where the request wants the values.
  // Counts invalid requests, on whichever thread they are found.
  void Answer(cluster::RawCall* call, absl::StatusOr<cluster::Frame> frame);
  absl::Status Pull(Call& call);
  absl::Status PullLive(const proto::PullHeader& header, const cluster::FrameRoom& room,
                        Call& call);
  absl::Status PullCut(const proto::PullHeader& header, const cluster::FrameRoom& room, Call& call);
  absl::Status PullCheckpoint(proto::PullHeader header, const cluster::FrameRoom& room, Call& call);
  absl::Status Push(Call& call);
  absl::Status PushGradients(const proto::PushHeader& header, cluster::FrameReader* reader,
                             Call& call);
  absl::Status PushScales(const proto::PushHeader& header, const cluster::FrameReader& reader,
                          Call& call);
  absl::Status PushReduced(const proto::PushHeader& header, cluster::FrameReader* reader,
                           Call& call);
  absl::StatusOr<std::shared_ptr<const void>> ReservePush(const JobBlocks& job,
                                                          const proto::PushHeader& header,
                                                          const cluster::RawCall& call);
  absl::Status Upload(Call& call);
  absl::Status Fetch(Call& call);

  absl::Status CheckUpload(const proto::UploadHeader& header) const;
  // What a cut's block shows of the trained model: its values, or the average that the optimizer
  // keeps of them.
  absl::StatusOr<BlockReply> TrainedValues(const Cut& cut, int position);
  // One block of a checkpoint, from the disk. `snapshot`: null for what was uploaded.
  absl::StatusOr<BlockReply> ReadBlock(uint64_t job_id, const storage::SnapshotReader* snapshot,
                                       uint32_t block);
  absl::StatusOr<cluster::Frame> ReadCheckpoint(const proto::PullHeader& header,
                                                const cluster::FrameRoom& room);
  absl::StatusOr<cluster::Frame> ReadFetched(const proto::FetchHeader& header);
  absl::StatusOr<cluster::Frame> StoreUploads(uint64_t job_id,
                                              std::vector<UploadStore::Upload> uploads);

  const Parts parts_;
  std::atomic<uint64_t> cluster_id_ = 0;
  const std::shared_ptr<PushedBytes> pushed_bytes_;
  ThreadPool disk_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_PARAMETER_SERVICE_H_
