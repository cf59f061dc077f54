#include "parameters/parameter_service.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "parameters/parameter_frames.h"
#include "parameters/snapshots/snapshot_frames.h"

namespace cairn::parameters {

namespace {

using cluster::FrameReader;
using cluster::FrameRoom;
using cluster::RawCall;

// Few, because they compete for one disk.
constexpr int kDiskThreads = 2;
constexpr size_t kDiskQueueMax = 256;

// Clients repeat a request after DATA_LOSS, which means a frame damaged in transit. Data damaged on
// disk stay damaged, so that error becomes INTERNAL.
absl::StatusOr<cluster::Frame> FromDisk(absl::StatusOr<cluster::Frame> frame) {
  if (absl::IsDataLoss(frame.status())) return absl::InternalError(frame.status().message());
  return frame;
}

}  // namespace

ParameterService::ParameterService(const Parts& parts)
    : parts_(parts),
      pushed_bytes_(
          std::make_shared<PushedBytes>(parts.pushed_bytes_max, parts.pushed_bytes_max / 2)),
      // Other ps read snapshots here during training, which has priority.
      disk_(kDiskThreads, "disk", kDiskQueueMax, ThreadPool::Priority::kBackground) {}

void ParameterService::set_cluster_id(uint64_t cluster_id) { cluster_id_ = cluster_id; }

void ParameterService::Answer(RawCall* call, absl::StatusOr<cluster::Frame> frame) {
  if (frame.ok()) return call->Reply(*std::move(frame));
  if (absl::IsInvalidArgument(frame.status())) ++parts_.store->counters().invalid_requests;
  call->Fail(frame.status());
}

void ParameterService::Handle(Call call) {
  absl::Status status;
  switch (call->method()) {
    case cluster::DataMethod::kPull:
      status = Pull(call);
      break;
    case cluster::DataMethod::kPush:
      status = Push(call);
      break;
    case cluster::DataMethod::kUpload:
      status = Upload(call);
      break;
    case cluster::DataMethod::kFetch:
      status = Fetch(call);
      break;
    case cluster::DataMethod::kPing:
      status = absl::InternalError("the data server answers pings");
      break;
  }
  if (!status.ok()) Answer(call.get(), status);
}

absl::Status ParameterService::CheckEnvelope(const proto::Envelope& envelope) const {
  if (envelope.version() != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(envelope.sender(), " has version ",
                                                      envelope.version(), ", ps ", parts_.ps,
                                                      " has ", kVersion));
  }
  const uint64_t cluster_id = cluster_id_;
  if (cluster_id == 0) {
    return absl::UnavailableError(
        absl::StrCat("ps ", parts_.ps, " has not met its coordinator yet"));
  }
  if (envelope.cluster_id() != cluster_id) {
    return absl::FailedPreconditionError(absl::StrCat(envelope.sender(), " belongs to cluster ",
                                                      absl::Hex(envelope.cluster_id()), ", ps ",
                                                      parts_.ps, " to ", absl::Hex(cluster_id)));
  }
  if (envelope.receiver() != parts_.ps) {
    return absl::FailedPreconditionError(absl::StrCat(
        envelope.sender(), " wants ps ", envelope.receiver(), ", this is ps ", parts_.ps));
  }
  return absl::OkStatus();
}

absl::Status ParameterService::Pull(Call& call) {
  proto::PullHeader header;
  CAIRN_ASSIGN_OR_RETURN(const FrameReader reader, FrameReader::Open(call->TakeRequest(), &header));
  CAIRN_RETURN_IF_ERROR(reader.ExpectEnd());
  CAIRN_RETURN_IF_ERROR(CheckEnvelope(header.envelope()));
  if (header.blocks().empty()) return absl::InvalidArgumentError("a pull names no block");
  switch (header.source_case()) {
    case proto::PullHeader::kBatch:
      return PullLive(header, reader.reply_room(), call);
    case proto::PullHeader::kCut:
      return PullCut(header, reader.reply_room(), call);
    case proto::PullHeader::kCheckpoint:
      return PullCheckpoint(std::move(header), reader.reply_room(), call);
    case proto::PullHeader::SOURCE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a pull names neither a batch nor a cut nor a checkpoint");
}

absl::Status ParameterService::PullLive(const proto::PullHeader& header, const FrameRoom& room,
                                        Call& call) {
  const ServiceProfile::Span span(parts_.profile, ServiceProfile::kReceive, header.batch());
  CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<JobBlocks> job,
                         parts_.store->Find(header.job_id(), header.generation()));
  if (header.early() && !job->layout()->Find(header.blocks(0)).ok()) {
    CAIRN_ASSIGN_OR_RETURN(job, parts_.store->FindReplicas(header.job_id(), header.generation()));
  }
  const JobLayout& layout = *job->layout();
  if (header.batch() < 0 || header.batch() >= layout.plan().total_batches()) {
    return absl::InvalidArgumentError(absl::StrCat("pull for batch ", header.batch(), ": job ",
                                                   layout.job_id(), " has batches 0 to ",
                                                   layout.plan().total_batches() - 1));
  }
  CAIRN_ASSIGN_OR_RETURN(std::vector<int> positions, FindBlocks(layout, header.blocks()));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.pull"));
  ++parts_.store->counters().pulls;
  // The pointer stays valid as long as blocks use it: the callback below owns the call and runs
  // after all blocks have answered.
  const RawCall* const raw = call.get();
  job->Pull(
      header.batch(), std::move(positions), [raw] { return raw->cancelled(); },
      [this, batch = header.batch(), call = std::move(call),
       room](std::vector<BlockReply> replies) {
        const ServiceProfile::Span reply_span(parts_.profile, ServiceProfile::kReply, batch);
        Answer(call.get(), EncodePullReply(std::move(replies), room));
      },
      header.early());
  return absl::OkStatus();
}

absl::Status ParameterService::PullCut(const proto::PullHeader& header, const FrameRoom& room,
                                       Call& call) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.pull_cut"));
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<const Cut> cut,
                         parts_.store->FindCut(header.job_id(), header.generation(), header.cut()));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<int> positions,
                         FindBlocks(*cut->layout, header.blocks()));
  std::vector<BlockReply> replies;
  replies.reserve(positions.size());
  for (const int position : positions) {
    CAIRN_ASSIGN_OR_RETURN(BlockReply reply, TrainedValues(*cut, position));
    replies.push_back(std::move(reply));
  }
  Answer(call.get(), EncodePullReply(std::move(replies), room));
  return absl::OkStatus();
}

absl::StatusOr<BlockReply> ParameterService::TrainedValues(const Cut& cut, int position) {
  const BlockState& state = cut.states[position];
  const BlockSpec& block = cut.layout->blocks()[position];
  const int average = cut.layout->optimizer(block).average_slot();
  BlockReply reply;
  reply.version = state.version;
  reply.values = state.values;
  // The slot is valid only after the first update.
  if (average < 0 || cut.layout->slot_count(block) == 0 || state.version == 0) return reply;
  reply.values = parts_.pool->Allocate(block.count);
  if (!reply.values)
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", block.name));
  std::copy_n(state.slots.data() + average * block.count, block.count, reply.values.data());
  return reply;
}

// Reading the disk must not block the threads that serve training, so a separate pool does it. If
// its queue is full, TrySubmit destroys the task and with it the call, which is then answered with
// UNAVAILABLE, and the client repeats it. The same holds for Upload and Fetch.
absl::Status ParameterService::PullCheckpoint(proto::PullHeader header, const FrameRoom& room,
                                              Call& call) {
  disk_.TrySubmit([this, call = std::move(call), header = std::move(header), room] {
    Answer(call.get(), FromDisk(ReadCheckpoint(header, room)));
  });
  return absl::OkStatus();
}

absl::StatusOr<BlockReply> ParameterService::ReadBlock(uint64_t job_id,
                                                       const storage::SnapshotReader* snapshot,
                                                       uint32_t block) {
  absl::StatusOr<StoredBlock> stored = absl::UnknownError("");
  if (snapshot == nullptr) {
    stored = parts_.uploads->Read(job_id, block);
  } else {
    CAIRN_ASSIGN_OR_RETURN(storage::BlockRecord record, snapshot->ReadBlock(block));
    stored = StoredBlock::Parse(block, std::move(record));
  }
  if (!stored.ok()) return stored.status();
  BlockReply reply;
  reply.version = stored->header().version();
  reply.values = parts_.pool->Allocate(stored->count());
  if (!reply.values) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for block ", block));
  }
  stored->CopyTrainedValues(reply.values.data());
  return reply;
}

absl::StatusOr<cluster::Frame> ParameterService::ReadCheckpoint(const proto::PullHeader& header,
                                                                const FrameRoom& room) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.pull_checkpoint"));
  std::unique_ptr<storage::SnapshotReader> snapshot;
  if (header.checkpoint() != 0) {
    proto::SnapshotPart part = header.part();
    if (!header.has_part()) part.set_ps(parts_.ps);
    CAIRN_ASSIGN_OR_RETURN(snapshot,
                           parts_.catalog->Open(header.job_id(), header.checkpoint(), part));
  }
  std::vector<BlockReply> replies;
  uint64_t bytes = 0;
  for (const uint32_t block : header.blocks()) {
    CAIRN_ASSIGN_OR_RETURN(BlockReply reply, ReadBlock(header.job_id(), snapshot.get(), block));
    bytes += static_cast<uint64_t>(reply.values.count()) * sizeof(float);
    replies.push_back(std::move(reply));
    // EncodeFrame would reject it too, but only after all blocks are in memory.
    if (bytes > cluster::kFrameBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the first ", replies.size(), " blocks of a pull have ", bytes,
                       " bytes, at most ", cluster::kFrameBytesMax, " are allowed: ask for fewer"));
    }
  }
  return EncodePullReply(std::move(replies), room);
}

// All handlers check in this order: the frame, the envelope (wrong task or cluster), the job and
// its generation, the blocks and numbers. No memory for tensors is allocated before that.
absl::Status ParameterService::Push(Call& call) {
  ServiceProfile::Span span(parts_.profile, ServiceProfile::kReceive, -1);
  proto::PushHeader header;
  CAIRN_ASSIGN_OR_RETURN(FrameReader reader, FrameReader::Open(call->TakeRequest(), &header));
  span.set_batch(header.batch());
  CAIRN_RETURN_IF_ERROR(CheckEnvelope(header.envelope()));
  if (header.has_reduced()) return PushReduced(header, &reader, call);
  return header.has_apply() ? PushScales(header, reader, call)
                            : PushGradients(header, &reader, call);
}

absl::Status ParameterService::PushGradients(const proto::PushHeader& header, FrameReader* reader,
                                             Call& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<JobBlocks> job,
                         parts_.store->Find(header.job_id(), header.generation()));
  CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<const void> room, ReservePush(*job, header, *call));
  CAIRN_ASSIGN_OR_RETURN(std::vector<BlockPush> pushes,
                         ReadGradients(*job->layout(), header, reader, parts_.pool));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.push"));
  ParameterStore::Counters& counters = parts_.store->counters();
  ++counters.pushes;
  const auto pushed = static_cast<size_t>(header.blocks_size());
  job->Push(std::move(pushes), std::move(room),
            [this, batch = header.batch(), call = std::move(call), pushed, layout = job->layout(),
             room = reader->reply_room(), &counters](std::vector<BlockReply> replies) {
              const ServiceProfile::Span reply_span(parts_.profile, ServiceProfile::kReply, batch);
              uint32_t duplicates = 0;
              auto frame = EncodePushReply(*layout, std::move(replies), pushed, room, &duplicates);
              counters.duplicates_refused += duplicates;
              Answer(call.get(), std::move(frame));
            });
  return absl::OkStatus();
}

// The gradients of a push are copied here, and wait in the queues of the owner threads. Those never
// wait for another request, so a push that is refused finds room soon.
absl::StatusOr<std::shared_ptr<const void>> ParameterService::ReservePush(
    const JobBlocks& job, const proto::PushHeader& header, const cluster::RawCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<int> positions,
                         FindBlocks(*job.layout(), header.blocks()));
  int64_t bytes = 0;
  for (const int position : positions) {
    bytes += job.layout()->blocks()[position].count * static_cast<int64_t>(sizeof(float));
  }
  if (header.already_buffered()) bytes = 0;
  std::shared_ptr<const void> room = pushed_bytes_->Reserve(call.peer(), bytes);
  if (room != nullptr) return room;
  return absl::ResourceExhaustedError(
      absl::StrCat("ps ", parts_.ps, " has too many bytes of gradients in its queues; try again"));
}

absl::Status ParameterService::PushScales(const proto::PushHeader& header,
                                          const FrameReader& reader, Call& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<JobBlocks> job,
                         parts_.store->Find(header.job_id(), header.generation()));
  CAIRN_ASSIGN_OR_RETURN(std::vector<JobBlocks::Scale> scales,
                         ReadScales(*job->layout(), header, reader));
  job->ApplyUpdate(header.batch(), std::move(scales),
                   [this, call = std::move(call)](const std::vector<BlockReply>& replies) {
                     Answer(call.get(), EncodeApplyReply(replies));
                   });
  return absl::OkStatus();
}

// Reduced updates need no reservation: an owner sends the next update of a block only after this
// one was acknowledged.
absl::Status ParameterService::PushReduced(const proto::PushHeader& header, FrameReader* reader,
                                           Call& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<JobBlocks> replicas,
                         parts_.store->FindReplicas(header.job_id(), header.generation()));
  CAIRN_ASSIGN_OR_RETURN(std::vector<ReducedBlock> updates,
                         ReadReduced(*replicas->layout(), header, reader, parts_.pool));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.receive_reduced"));
  replicas->Receive(std::move(updates),
                    [this, call = std::move(call)](const std::vector<BlockReply>& replies) {
                      Answer(call.get(), EncodeApplyReply(replies));
                    });
  return absl::OkStatus();
}

absl::Status ParameterService::CheckUpload(const proto::UploadHeader& header) const {
  const std::shared_ptr<JobBlocks> job = parts_.store->current();
  if (job == nullptr || job->layout()->job_id() != header.job_id()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("initial values of job ", header.job_id(), " come too late: it runs already"));
}

absl::Status ParameterService::Upload(Call& call) {
  proto::UploadHeader header;
  CAIRN_ASSIGN_OR_RETURN(FrameReader reader, FrameReader::Open(call->TakeRequest(), &header));
  CAIRN_RETURN_IF_ERROR(CheckEnvelope(header.envelope()));
  CAIRN_RETURN_IF_ERROR(CheckUpload(header));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.upload"));
  // Before any memory is allocated for the values; then with their size.
  CAIRN_RETURN_IF_ERROR(parts_.uploads->Admit(header.job_id(), 0));
  CAIRN_ASSIGN_OR_RETURN(std::vector<UploadStore::Upload> uploads,
                         ReadUploads(header, &reader, parts_.pool));
  uint64_t bytes = 0;
  for (const UploadStore::Upload& upload : uploads) {
    bytes += static_cast<uint64_t>(upload.values.count()) * sizeof(float);
  }
  CAIRN_RETURN_IF_ERROR(parts_.uploads->Admit(header.job_id(), bytes));
  disk_.TrySubmit([this, call = std::move(call), job_id = header.job_id(),
                   uploads = std::move(uploads)]() mutable {
    Answer(call.get(), StoreUploads(job_id, std::move(uploads)));
  });
  return absl::OkStatus();
}

absl::StatusOr<cluster::Frame> ParameterService::StoreUploads(
    uint64_t job_id, std::vector<UploadStore::Upload> uploads) {
  proto::UploadReplyHeader header;
  header.set_stored(static_cast<uint32_t>(uploads.size()));
  CAIRN_RETURN_IF_ERROR(parts_.uploads->Store(job_id, std::move(uploads)));
  return cluster::EncodeFrame(header, {});
}

absl::Status ParameterService::Fetch(Call& call) {
  proto::FetchHeader header;
  CAIRN_ASSIGN_OR_RETURN(const FrameReader reader, FrameReader::Open(call->TakeRequest(), &header));
  CAIRN_RETURN_IF_ERROR(reader.ExpectEnd());
  CAIRN_RETURN_IF_ERROR(CheckEnvelope(header.envelope()));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.fetch"));
  // Not on the threads of the disk, which may hang: others recover from this memory meanwhile.
  if (header.has_replica()) {
    Answer(call.get(), ReadReplicas(header, *parts_.store));
    return absl::OkStatus();
  }
  disk_.TrySubmit([this, call = std::move(call), header = std::move(header)] {
    Answer(call.get(), FromDisk(ReadFetched(header)));
  });
  return absl::OkStatus();
}

absl::StatusOr<cluster::Frame> ParameterService::ReadFetched(const proto::FetchHeader& header) {
  if (header.checkpoint() == 0) return ReadUploaded(header, parts_.uploads);
  return ReadRecords(header, *parts_.catalog);
}

}  // namespace cairn::parameters
