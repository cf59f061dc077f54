#include "parameters/snapshots/snapshot_frames.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/status_macros.h"

namespace cairn::parameters {

namespace {

constexpr size_t kReplyBytes = size_t{4} << 20;

cluster::FramePiece PieceOf(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  return {bytes.data(), bytes.size(), owner};
}

}  // namespace

absl::StatusOr<cluster::Frame> ReadRecords(const proto::FetchHeader& header,
                                           const SnapshotCatalog& catalog) {
  if (header.blocks().empty()) return absl::InvalidArgumentError("a fetch names no block");
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<storage::SnapshotReader> snapshot,
                         catalog.Open(header.job_id(), header.checkpoint(), header.part()));
  auto records = std::make_shared<std::vector<storage::BlockRecord>>();
  size_t bytes = 0;
  for (const uint32_t block : header.blocks()) {
    if (bytes >= kReplyBytes) break;
    CAIRN_ASSIGN_OR_RETURN(storage::BlockRecord record, snapshot->ReadBlock(block));
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

}  // namespace cairn::parameters
