#ifndef CAIRN_CLUSTER_FRAME_H_
#define CAIRN_CLUSTER_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cluster/shared_memory/shared_memory.h"

namespace google::protobuf {
class MessageLite;
}
namespace grpc {
class ByteBuffer;
}

// Frames: the encoding of requests and replies of the data plane. A frame consists of the following
// parts. Integers are little-endian.
//
//   prefix     56 bytes: u32 magic, u32 header_bytes, u64 payload_bytes, u32 tensors, u32 flags,
//              u64 memory, u64 payload_offset, u64 reply_offset, u64 reply_bytes
//   header     a serialized protobuf message
//   table      for each tensor: u64 bytes, u64 XXH3 of the tensor
//   checksum   u64, XXH3 of everything before it
//   payload    the raw tensors, one after another
//
// Between processes of one machine the payload may be in shared memory instead (flag 1): at
// payload_offset of the memory with the token `memory`. A request may also reserve space there for
// the payload of its reply (reply_offset, reply_bytes).
//
//   CAIRN_ASSIGN_OR_RETURN(Frame frame, EncodeFrame(header, {FramePiece::Borrowed(values)}));
//   CAIRN_ASSIGN_OR_RETURN(FrameReader reader, FrameReader::Open(frame, &header));
//   CAIRN_RETURN_IF_ERROR(reader.Read(absl::MakeSpan(values)));
//
// A received tensor is copied once, and its checksum is computed during the copy. A sent frame
// references the memory of owned tensors; borrowed ones, and those that go into shared memory, are
// copied.
//
// Within one process nothing is encoded: the frame references the tensors, and the receiver copies
// them once, without checksums.

namespace cairn::cluster {

// The maximum size of a frame; also gRPC's message size limit.
inline constexpr size_t kFrameBytesMax = size_t{256} << 20;

// A range of memory to send. It is one of:
//   - owned: `owner` keeps it allocated while gRPC uses it, possibly after the call has ended;
//   - borrowed: it is copied, unless it goes into shared memory;
//   - neither: it outlives all channels and servers.
// The contents must not change before the call has ended. Later changes are harmless: if gRPC is
// still sending the memory, the receiver detects a wrong checksum.
struct FramePiece {
  const void* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
  bool borrowed = false;

  static FramePiece OfFloats(absl::Span<const float> values, std::shared_ptr<const void> owner) {
    return {values.data(), values.size() * sizeof(float), std::move(owner), false};
  }
  // For memory that stays allocated until the call has ended.
  static FramePiece Borrowed(absl::Span<const float> values) {
    return {values.data(), values.size() * sizeof(float), nullptr, true};
  }
};

// Returns the shared memory with this token, or null if it is unknown. Called on any thread.
using FindMemory = std::function<std::shared_ptr<SharedMemory>(uint64_t token)>;

// An encoded frame, or received bytes that may be one: a reference-counted gRPC buffer. Or a frame
// within one process. Empty by default.
class Frame {
 public:
  // What a frame within one process has.
  struct Parts {
    std::string header;  // Serialized.
    std::vector<FramePiece> pieces;
  };

  Frame() = default;
  explicit Frame(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  // `find` resolves the shared memory of received frames; null if the sender shares none.
  explicit Frame(std::shared_ptr<grpc::ByteBuffer> buffer, FindMemory find = nullptr)
      : buffer_(std::move(buffer)), find_(std::move(find)) {}
  // Copies `bytes`. For tests.
  static Frame FromBytes(std::string_view bytes);

  // Size without tensors in shared memory; 0 if empty, or within one process.
  size_t bytes() const;
  // Copies the frame. For tests.
  std::string ToBytes() const;
  // May be null.
  const std::shared_ptr<grpc::ByteBuffer>& buffer() const { return buffer_; }
  // Null unless it is a frame within one process.
  const std::shared_ptr<const Parts>& parts() const { return parts_; }
  const FindMemory& find_memory() const { return find_; }

 private:
  std::shared_ptr<grpc::ByteBuffer> buffer_;
  FindMemory find_;
  std::shared_ptr<const Parts> parts_;
};

// Space for tensors in memory that sender and receiver share; both parts are in the same memory.
// Empty by default.
struct FrameRoom {
  SharedSpan payload;       // For the frame's tensors. Not used if it is too small.
  SharedSpan reply;         // For those of the reply to it.
  bool in_process = false;  // The receiver is in this process, and needs no room.
};

// Encodes a frame. Reads all `pieces` to compute their checksums, and copies the borrowed ones; if
// all fit into room.payload, copies all of them there instead. With room.in_process it references
// all of them. InvalidArgument: the frame would be larger than kFrameBytesMax.
absl::StatusOr<Frame> EncodeFrame(const google::protobuf::MessageLite& header,
                                  std::vector<FramePiece> pieces, const FrameRoom& room = {});

// Decodes a frame from an untrusted sender. Movable. Not thread-safe.
class FrameReader {
 public:
  // Verifies all sizes and the checksum of everything but the tensors, then parses the header into
  // `*header`. DataLoss: not a frame, or it is truncated, too long or corrupted, or refers to
  // unknown shared memory. InvalidArgument: too large, or the header is not a message of this type.
  static absl::StatusOr<FrameReader> Open(Frame frame, google::protobuf::MessageLite* header);

  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;
  ~FrameReader();

  // The number of payload bytes that have not been read.
  size_t bytes_left() const;

  // Copies the next tensor to `destination` and verifies its checksum. InvalidArgument: the tensor
  // has another size, or there is none; nothing has been read. DataLoss: the tensor is corrupted;
  // the contents of `destination` are undefined.
  absl::Status Read(absl::Span<float> destination);
  // The same for data other than floats.
  absl::Status ReadBytes(absl::Span<char> destination);

  // InvalidArgument if tensors are left.
  absl::Status ExpectEnd() const;

  // Where the sender wants the tensors of the reply, as its payload.
  const FrameRoom& reply_room() const;

 private:
  struct State;
  static absl::Status ParseHeader(const std::string& bytes, google::protobuf::MessageLite* header);
  static FrameReader OfParts(std::shared_ptr<const Frame::Parts> parts);
  absl::Status ReadTensor(void* destination, size_t bytes);
  explicit FrameReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_FRAME_H_
