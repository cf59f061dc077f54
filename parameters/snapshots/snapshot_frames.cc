#include "parameters/snapshots/snapshot_frames.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "parameters/snapshots/snapshot.h"

namespace cairn::parameters {

namespace {

constexpr size_t kReplyBytes = size_t{4} << 20;

cluster::FramePiece PieceOf(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  return {bytes.data(), bytes.size(), owner};
}

absl::Status CheckNamesBlocks(const proto::FetchHeader& header) {
  if (!header.blocks().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("a fetch names no block");
}

using ReadBlock = absl::FunctionRef<absl::StatusOr<storage::BlockRecord>(uint32_t block)>;

absl::StatusOr<cluster::Frame> EncodeRecords(const proto::FetchHeader& header, ReadBlock read) {
  auto records = std::make_shared<std::vector<storage::BlockRecord>>();
  size_t bytes = 0;
  for (const uint32_t block : header.blocks()) {
    if (bytes >= kReplyBytes) break;
    CAIRN_ASSIGN_OR_RETURN(storage::BlockRecord record, read(block));
    bytes += record.header().size() + record.payload().size();
    records->push_back(std::move(record));
  }
  proto::FetchReplyHeader reply;
  std::vector<cluster::FramePiece> pieces;
  for (size_t i = 0; i < records->size(); ++i) {
    const storage::BlockRecord& record = (*records)[i];
    proto::FetchedBlock* block = reply.add_blocks();
    block->set_block(header.blocks(static_cast<int>(i)));
    block->set_header_bytes(static_cast<uint32_t>(record.header().size()));
    block->set_payload_bytes(record.payload().size());
    pieces.push_back(PieceOf(record.bytes(), records));
  }
  return cluster::EncodeFrame(reply, std::move(pieces));
}

std::string_view BytesOf(const BlockBuffer& buffer) {
  if (!buffer) return {};
  return {reinterpret_cast<const char*>(buffer.data()),
          static_cast<size_t>(buffer.count()) * sizeof(float)};
}

}  // namespace

absl::StatusOr<cluster::Frame> ReadRecords(const proto::FetchHeader& header,
                                           const SnapshotCatalog& catalog) {
  CAIRN_RETURN_IF_ERROR(CheckNamesBlocks(header));
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<storage::SnapshotReader> snapshot,
                         catalog.Open(header.job_id(), header.checkpoint(), header.part()));
  return EncodeRecords(header, [&](uint32_t block) { return snapshot->ReadBlock(block); });
}

absl::StatusOr<cluster::Frame> ReadUploaded(const proto::FetchHeader& header,
                                            UploadStore* uploads) {
  CAIRN_RETURN_IF_ERROR(CheckNamesBlocks(header));
  return EncodeRecords(header,
                       [&](uint32_t block) { return uploads->ReadRecord(header.job_id(), block); });
}

absl::StatusOr<cluster::Frame> ReadReplicas(const proto::FetchHeader& header,
                                            const ParameterStore& store) {
  CAIRN_RETURN_IF_ERROR(CheckNamesBlocks(header));
  const std::shared_ptr<const ReplicaSet> replicas = store.replicas();
  if (replicas == nullptr || replicas->job_id() != header.job_id()) {
    return absl::NotFoundError(
        absl::StrCat("no replicas of job ", header.job_id(), " are in memory here"));
  }
  return EncodeRecords(header, [&](uint32_t id) -> absl::StatusOr<storage::BlockRecord> {
    CAIRN_ASSIGN_OR_RETURN(const ReplicaSet::Found found,
                           replicas->Find(id, header.replica().version()));
    std::string record = EncodeBlockHeader(*found.layout, *found.block, found.state);
    const size_t header_bytes = record.size();
    record.append(BytesOf(found.state.values));
    record.append(BytesOf(found.state.slots));
    return storage::BlockRecord(std::move(record), /*skipped_bytes=*/0, header_bytes);
  });
}

}  // namespace cairn::parameters
