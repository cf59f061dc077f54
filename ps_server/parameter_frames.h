#ifndef CAIRN_PS_SERVER_PARAMETER_FRAMES_H_
#define CAIRN_PS_SERVER_PARAMETER_FRAMES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "cluster/frame.h"
#include "proto/parameter_server.pb.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/block_reply.h"
#include "ps_server/job_blocks.h"
#include "ps_server/snapshots/upload_store.h"

namespace cairn::ps {

// Between the frames of the data plane and the blocks. Everything in a header is as the sender
// wrote it and is checked here.

// The places in the layout of the blocks that a header names. InvalidArgument: none, more than the
// job has, or one that is not on this ps.
absl::StatusOr<std::vector<int>> FindBlocks(
    const JobLayout& layout, const google::protobuf::RepeatedField<uint32_t>& blocks);

// The push's gradients (null if they are already buffered), and, without values, its settled
// blocks, in this order. Sizes are compared before anything is allocated; batch and examples with
// the plan. InvalidArgument names the block.
absl::StatusOr<std::vector<JobBlocks::Gradient>> ReadGradients(const JobLayout& layout,
                                                               const proto::PushHeader& header,
                                                               cluster::FrameReader* reader,
                                                               BufferPool* pool);

// What UpdateScales says, as careful as ReadGradients.
absl::StatusOr<std::vector<JobBlocks::Scale>> ReadScales(const JobLayout& layout,
                                                         const proto::PushHeader& header,
                                                         const cluster::FrameReader& reader);

// The blocks of an upload with their values; as careful as ReadGradients.
absl::StatusOr<std::vector<UploadStore::Upload>> ReadUploads(const proto::UploadHeader& header,
                                                             cluster::FrameReader* reader,
                                                             BufferPool* pool);

// The answer to a pull: the blocks' values, or that the batch is settled, or the first error.
// Values go into `room` if the request offered some and they fit.
absl::StatusOr<cluster::Frame> EncodePullReply(std::vector<BlockReply> replies,
                                               const cluster::SharedSpan& room);

// The answer to a push; the first `pushed` replies are those of PushHeader.blocks. `layout` says
// whether sums of squares belong to it. Counts duplicates into `*duplicates`. `room` as above.
absl::StatusOr<cluster::Frame> EncodePushReply(const JobLayout& layout,
                                               std::vector<BlockReply> replies, size_t pushed,
                                               const cluster::SharedSpan& room,
                                               uint32_t* duplicates);

// The answer to UpdateScales.
absl::StatusOr<cluster::Frame> EncodeApplyReply(const std::vector<BlockReply>& replies);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_PARAMETER_FRAMES_H_
