#include "parameters/parameter_frames.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"

namespace cairn::parameters {

namespace {

absl::Status FirstError(const std::vector<BlockReply>& replies) {
  for (const BlockReply& reply : replies) {
    if (!reply.status.ok()) return reply.status;
  }
  return absl::OkStatus();
}

// Returns pieces that reference the values of the replies. Every piece keeps all replies alive.
std::vector<cluster::FramePiece> PiecesOf(std::vector<BlockReply> replies) {
  const auto owner = std::make_shared<const std::vector<BlockReply>>(std::move(replies));
  std::vector<cluster::FramePiece> pieces;
  pieces.reserve(owner->size());
  for (const BlockReply& reply : *owner) {
    if (!reply.values) continue;
    pieces.push_back(cluster::FramePiece::OfFloats(
        {reply.values.data(), static_cast<size_t>(reply.values.count())}, owner));
  }
  return pieces;
}

absl::Status CheckBatch(const JobLayout& layout, const proto::PushHeader& header) {
  const int64_t total = layout.plan().total_batches();
  if (header.batch() >= 0 && header.batch() < total) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("push of batch ", header.batch(), ": job ",
                                                 layout.job_id(), " has batches 0 to ", total - 1));
}

absl::Status CheckNumbers(const JobLayout& layout, const proto::PushHeader& header) {
  const proto::JobPlan& plan = layout.plan();
  CAIRN_RETURN_IF_ERROR(CheckBatch(layout, header));
  // A rejected batch has no gradients, and then none of its examples count.
  const int64_t least = header.blocks().empty() ? 0 : 1;
  if (header.examples() < least || header.examples() > plan.batch_size()) {
    return absl::InvalidArgumentError(absl::StrCat("push of batch ", header.batch(), " with ",
                                                   header.examples(), " examples, expected ", least,
                                                   " to ", plan.batch_size()));
  }
  return absl::OkStatus();
}

absl::Status CheckPayload(const JobLayout& layout, const std::vector<int>& positions,
                          const cluster::FrameReader& reader) {
  uint64_t expected = 0;
  for (const int position : positions) {
    expected += static_cast<uint64_t>(layout.blocks()[position].count) * sizeof(float);
  }
  if (reader.bytes_left() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the gradients for ", positions.size(), " blocks, the first of which is ",
                   layout.blocks()[positions.front()].name, ", have ", reader.bytes_left(),
                   " bytes, expected ", expected));
}

absl::Status CheckScale(const BlockSpec& block, float scale) {
  if (scale >= 0 && scale <= 1) return absl::OkStatus();  // Nor NaN.
  return absl::InvalidArgumentError(
      absl::StrCat("the scale of ", block.name, " is ", scale, ", but must be in [0, 1]"));
}

absl::StatusOr<BlockBuffer> ReadGradient(const BlockSpec& block, cluster::FrameReader* reader,
                                         BufferPool* pool) {
  BlockBuffer gradient = pool->Allocate(block.count);
  if (!gradient) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for a gradient of ", block.name));
  }
  const absl::Status status =
      reader->Read(absl::MakeSpan(gradient.data(), static_cast<size_t>(block.count)));
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("the gradient for ", block.name, ": ",
                                                    std::string(status.message())));
  }
  return gradient;
}

void AddSums(const std::vector<BlockReply>& replies, proto::PushReplyHeader* header) {
  for (const BlockReply& reply : replies) {
    if (reply.square_sum.has_value()) {
      proto::SquareSum& sum = *header->add_sums();
      sum.mutable_words()->Assign(reply.square_sum->words().begin(),
                                  reply.square_sum->words().end());
      sum.set_infinite(!reply.square_sum->finite());
    } else {
      header->set_update_applied(true);
    }
  }
  if (header->update_applied()) header->clear_sums();
}

}  // namespace

absl::StatusOr<std::vector<int>> FindBlocks(
    const JobLayout& layout, const google::protobuf::RepeatedField<uint32_t>& blocks) {
  if (static_cast<size_t>(blocks.size()) > layout.blocks().size()) {
    return absl::InvalidArgumentError(absl::StrCat(blocks.size(), " blocks are named, this ps has ",
                                                   layout.blocks().size(), " of job ",
                                                   layout.job_id()));
  }
  std::vector<int> positions;
  positions.reserve(blocks.size());
  for (const uint32_t block : blocks) {
    CAIRN_ASSIGN_OR_RETURN(const int position, layout.Find(block));
    positions.push_back(position);
  }
  return positions;
}

absl::StatusOr<std::vector<BlockPush>> ReadGradients(const JobLayout& layout,
                                                     const proto::PushHeader& header,
                                                     cluster::FrameReader* reader,
                                                     BufferPool* pool) {
  CAIRN_RETURN_IF_ERROR(CheckNumbers(layout, header));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<int> pushed, FindBlocks(layout, header.blocks()));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<int> applied,
                         FindBlocks(layout, header.applied_blocks()));
  if (pushed.empty() && applied.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("push of batch ", header.batch(), " names no block"));
  }
  if (pushed.empty() || header.already_buffered()) {
    CAIRN_RETURN_IF_ERROR(reader->ExpectEnd());
  } else {
    CAIRN_RETURN_IF_ERROR(CheckPayload(layout, pushed, *reader));
  }
  std::vector<BlockPush> pushes;
  pushes.reserve(pushed.size() + applied.size());
  const auto add = [&](int position) -> BlockPush& {
    return pushes.emplace_back(BlockPush{.position = position,
                                         .batch = header.batch(),
                                         .examples = header.examples(),
                                         .answer_when_buffered = header.answer_when_buffered(),
                                         .already_buffered = header.already_buffered()});
  };
  for (const int position : pushed) {
    BlockPush& push = add(position);
    if (header.already_buffered()) continue;
    CAIRN_ASSIGN_OR_RETURN(push.gradient, ReadGradient(layout.blocks()[position], reader, pool));
    push.want_values = header.want_values();
  }
  for (const int position : applied) add(position);
  return pushes;
}

absl::StatusOr<std::vector<JobBlocks::Scale>> ReadScales(const JobLayout& layout,
                                                         const proto::PushHeader& header,
                                                         const cluster::FrameReader& reader) {
  CAIRN_RETURN_IF_ERROR(CheckBatch(layout, header));
  CAIRN_RETURN_IF_ERROR(reader.ExpectEnd());
  const proto::UpdateScales& apply = header.apply();
  CAIRN_ASSIGN_OR_RETURN(const std::vector<int> positions, FindBlocks(layout, apply.blocks()));
  if (positions.empty() || apply.scales_size() != apply.blocks_size() ||
      header.blocks_size() + header.applied_blocks_size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the update of batch ", header.batch(), " names ", positions.size(),
                     " blocks with ", apply.scales_size(), " scales and ",
                     header.blocks_size() + header.applied_blocks_size(), " gradients"));
  }
  std::vector<JobBlocks::Scale> scales;
  scales.reserve(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    const float scale = apply.scales(static_cast<int>(i));
    CAIRN_RETURN_IF_ERROR(CheckScale(layout.blocks()[positions[i]], scale));
    scales.push_back({positions[i], scale});
  }
  return scales;
}

absl::StatusOr<std::vector<ReducedBlock>> ReadReduced(const JobLayout& layout,
                                                      const proto::PushHeader& header,
                                                      cluster::FrameReader* reader,
                                                      BufferPool* pool) {
  const auto& scales = header.reduced().scales();
  if (scales.size() != header.blocks_size() + header.applied_blocks_size() ||
      header.already_buffered()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the update of batch ", header.batch(), " names ", header.blocks_size(), " and ",
        header.applied_blocks_size(), " blocks with ", scales.size(), " scales"));
  }
  CAIRN_ASSIGN_OR_RETURN(std::vector<BlockPush> pushes,
                         ReadGradients(layout, header, reader, pool));
  std::vector<ReducedBlock> updates;
  updates.reserve(pushes.size());
  for (BlockPush& push : pushes) {
    const float scale = scales[static_cast<int>(updates.size())];
    CAIRN_RETURN_IF_ERROR(CheckScale(layout.blocks()[push.position], scale));
    updates.push_back({push.position, push.batch, std::move(push.gradient), scale});
  }
  return updates;
}

absl::StatusOr<std::vector<UploadStore::Upload>> ReadUploads(const proto::UploadHeader& header,
                                                             cluster::FrameReader* reader,
                                                             BufferPool* pool) {
  std::vector<UploadStore::Upload> uploads;
  for (const proto::UploadedBlock& block : header.blocks()) {
    CAIRN_ASSIGN_OR_RETURN(const int64_t count, UploadStore::CountValues(block));
    const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(float);
    if (bytes > reader->bytes_left()) {
      return absl::InvalidArgumentError(
          absl::StrCat("uploaded block ", block.block(), " of ", block.variable(), " has ",
                       reader->bytes_left(), " bytes of values, expected ", bytes));
    }
    UploadStore::Upload upload;
    upload.block = block;
    upload.values = pool->Allocate(count);
    if (!upload.values) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for uploaded block ", block.block()));
    }
    CAIRN_RETURN_IF_ERROR(
        reader->Read(absl::MakeSpan(upload.values.data(), static_cast<size_t>(count))));
    uploads.push_back(std::move(upload));
  }
  if (uploads.empty()) return absl::InvalidArgumentError("an upload names no block");
  CAIRN_RETURN_IF_ERROR(reader->ExpectEnd());
  return uploads;
}

absl::StatusOr<cluster::Frame> EncodePullReply(std::vector<BlockReply> replies,
                                               const cluster::FrameRoom& room) {
  CAIRN_RETURN_IF_ERROR(FirstError(replies));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.pull_reply"));
  proto::PullReplyHeader header;
  for (const BlockReply& reply : replies) {
    header.add_versions(reply.version);
    if (reply.applied_before) header.set_batch_applied(true);
  }
  if (header.batch_applied()) return cluster::EncodeFrame(header, {});
  return cluster::EncodeFrame(header, PiecesOf(std::move(replies)), room);
}

absl::StatusOr<cluster::Frame> EncodePushReply(const JobLayout& layout,
                                               std::vector<BlockReply> replies, size_t pushed,
                                               const cluster::FrameRoom& room,
                                               uint32_t* duplicates) {
  *duplicates = 0;
  for (const BlockReply& reply : replies) {
    if (reply.applied_before) ++*duplicates;
  }
  CAIRN_RETURN_IF_ERROR(FirstError(replies));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("ps.push_reply"));
  proto::PushReplyHeader header;
  header.set_duplicates(*duplicates);
  for (size_t i = 0; i < pushed; ++i) header.add_versions(replies[i].version);
  header.set_buffered(std::any_of(replies.begin(), replies.end(),
                                  [](const BlockReply& reply) { return reply.buffered; }));
  // Of a buffered batch nothing is known yet: it is asked for again.
  if (header.buffered()) return cluster::EncodeFrame(header, {});
  if (layout.clips_update_norms()) AddSums(replies, &header);
  return cluster::EncodeFrame(header, PiecesOf(std::move(replies)), room);
}

absl::StatusOr<cluster::Frame> EncodeApplyReply(const std::vector<BlockReply>& replies) {
  CAIRN_RETURN_IF_ERROR(FirstError(replies));
  return cluster::EncodeFrame(proto::PushReplyHeader(), {});
}

}  // namespace cairn::parameters
