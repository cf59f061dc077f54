#ifndef CAIRN_PARAMETERS_PARAMETER_FRAMES_H_
#define CAIRN_PARAMETERS_PARAMETER_FRAMES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "cluster/frame.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/block_reply.h"
#include "parameters/job_blocks.h"
#include "parameters/snapshots/upload_store.h"
#include "proto/parameter_server.pb.h"

namespace cairn::parameters {

// Conversion between the frames of the data plane and the blocks. Headers come from untrusted
// senders and are validated here.

// Returns the positions of blocks. InvalidArgument: more blocks than the ps has, or a block that is
// not on this ps.
absl::StatusOr<std::vector<int>> FindBlocks(
    const JobLayout& layout, const google::protobuf::RepeatedField<uint32_t>& blocks);

// Reads the gradients of a push (null if they are already buffered), followed by its blocks without
// a gradient (applied_blocks). Only blocks with a gradient want values. Compares sizes before
// allocating memory, and batch and examples with the plan. InvalidArgument: names the block.
absl::StatusOr<std::vector<BlockPush>> ReadGradients(const JobLayout& layout,
                                                     const proto::PushHeader& header,
                                                     cluster::FrameReader* reader,
                                                     BufferPool* pool);

// Reads UpdateScales. Validates it like ReadGradients.
absl::StatusOr<std::vector<JobBlocks::Scale>> ReadScales(const JobLayout& layout,
                                                         const proto::PushHeader& header,
                                                         const cluster::FrameReader& reader);

// Reads the reduced updates that the owner of blocks sends to their replicas, whose layout this is.
// Validates them like ReadGradients.
absl::StatusOr<std::vector<ReducedBlock>> ReadReduced(const JobLayout& layout,
                                                      const proto::PushHeader& header,
                                                      cluster::FrameReader* reader,
                                                      BufferPool* pool);

// Reads the blocks of an upload. Validates them like ReadGradients.
absl::StatusOr<std::vector<UploadStore::Upload>> ReadUploads(const proto::UploadHeader& header,
                                                             cluster::FrameReader* reader,
                                                             BufferPool* pool);

// Encodes the reply to a pull: the blocks' values, or that the batch has been applied, or the first
// error. The values are written to `room` if they fit.
absl::StatusOr<cluster::Frame> EncodePullReply(std::vector<BlockReply> replies,
                                               const cluster::FrameRoom& room);

// Encodes the reply to a push. The first `pushed` replies are those of PushHeader.blocks. Includes
// the sums of squares if the layout requires them. Sets `*duplicates` to the number of blocks that
// had applied the batch already. `room` as above.
absl::StatusOr<cluster::Frame> EncodePushReply(const JobLayout& layout,
                                               std::vector<BlockReply> replies, size_t pushed,
                                               const cluster::FrameRoom& room,
                                               uint32_t* duplicates);

// Encodes the reply to UpdateScales.
absl::StatusOr<cluster::Frame> EncodeApplyReply(const std::vector<BlockReply>& replies);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_PARAMETER_FRAMES_H_
