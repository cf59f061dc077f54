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

// What travels on the data plane. A frame is, in little endian:
//
//   prefix     56 bytes: u32 magic, u32 header_bytes, u64 payload_bytes, u32 tensors, u32 flags,
//              u64 memory, u64 payload_offset, u64 reply_offset, u64 reply_bytes
//   header     a serialized proto
//   table      for each tensor: u64 bytes, u64 XXH3 of them
//   checksum   u64, XXH3 of everything before
//   payload    raw tensors, one after the other
//
// Between processes of one host the payload may lie in shared memory instead (flag 1): at
// payload_offset of the memory that both call `memory`. A request may offer room there for its
// reply's payload (reply_offset, reply_bytes).
//
// Tensors are copied once on their way in, and checked while they are. On their way out frames
// refer to the caller's memory; only into shared memory they are copied.

namespace cairn::cluster {

// Of a whole frame; set as gRPC's limit on both sides.
inline constexpr size_t kFrameBytesMax = size_t{256} << 20;

// A stretch of memory that is sent. Either `owner` keeps it allocated for as long as gRPC holds on
// to it, which may be longer than the call, or it is borrowed, and copied unless it goes into
// shared memory. The contents must not change before the call has ended; afterwards they may (if
// any of it is still under way, its checksum is wrong and it is refused).
struct FramePiece {
  const void* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;  // Null: the memory outlives every channel and server,
  bool borrowed = false;              // unless it is borrowed.

  static FramePiece OfFloats(absl::Span<const float> values, std::shared_ptr<const void> owner) {
    return {values.data(), values.size() * sizeof(float), std::move(owner), false};
  }
  // Of memory that is allocated until the call has ended, and perhaps no longer.
  static FramePiece Borrowed(absl::Span<const float> values) {
    return {values.data(), values.size() * sizeof(float), nullptr, true};
  }
};

// Shared memory by the name that both sides gave it; null: not known (any more). Any thread.
using FindMemory = std::function<std::shared_ptr<SharedMemory>(uint64_t token)>;

// An encoded frame, or what claims to be one: a counted reference to gRPC's buffer. Default: empty.
class Frame {
 public:
  Frame() = default;
  // `find` is for a frame that came from elsewhere; null: its sender shares no memory.
  explicit Frame(std::shared_ptr<grpc::ByteBuffer> buffer, FindMemory find = nullptr)
      : buffer_(std::move(buffer)), find_(std::move(find)) {}
  // Of these bytes, copied: for tests.
  static Frame FromBytes(std::string_view bytes);

  // Without what lies in shared memory; 0 if empty.
  size_t bytes() const;
  // All of it in one string, copied: for tests.
  std::string ToBytes() const;
  // May be null.
  const std::shared_ptr<grpc::ByteBuffer>& buffer() const { return buffer_; }
  const FindMemory& find_memory() const { return find_; }

 private:
  std::shared_ptr<grpc::ByteBuffer> buffer_;
  FindMemory find_;
};

// Room in memory that sender and receiver share, one and the same for both. Default: none.
struct FrameRoom {
  SharedSpan payload;  // For the tensors; not used if it is too small for them.
  SharedSpan reply;    // For those of the answer.
};

// Reads all of `pieces` once, for the checksums; copies those that are borrowed, and all of them
// into room.payload if they fit. InvalidArgument: the frame would be larger than kFrameBytesMax.
absl::StatusOr<Frame> EncodeFrame(const google::protobuf::MessageLite& header,
                                  std::vector<FramePiece> pieces, const FrameRoom& room = {});

// Reads a frame that anybody may have sent. Not thread-safe; movable.
class FrameReader {
 public:
  // Verifies all lengths, and the checksum of everything but the tensors, before it parses the
  // header into `*header`. DataLoss: cut short, too long, changed under way, or in memory that is
  // not shared with us. InvalidArgument: not a frame, too large, or the header is not a message of
  // this type.
  static absl::StatusOr<FrameReader> Open(Frame frame, google::protobuf::MessageLite* header);

  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;
  ~FrameReader();

  // Bytes of the payload that have not been read.
  size_t bytes_left() const;

  // Copies the next tensor out and verifies the copy. InvalidArgument: it has another size, or
  // there is none; then nothing was read. DataLoss: it was changed under way; then the destination
  // holds no more than the attempt.
  absl::Status Read(absl::Span<float> destination);
  // The same for one that is no array of floats.
  absl::Status ReadBytes(absl::Span<char> destination);

  // InvalidArgument unless all was read.
  absl::Status ExpectEnd() const;

  // Where the sender wants the answer's tensors to be; none, if nowhere.
  const SharedSpan& reply_room() const;

 private:
  struct State;
  absl::Status ReadTensor(void* destination, size_t bytes);
  explicit FrameReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_FRAME_H_
