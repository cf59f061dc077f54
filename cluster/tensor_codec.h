#ifndef CAIRN_CLUSTER_TENSOR_CODEC_H_
#define CAIRN_CLUSTER_TENSOR_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace google::protobuf {
class MessageLite;
}
namespace grpc {
class ByteBuffer;
}

// What travels on the data plane. A frame is, in little endian:
//
//   u32 magic, u32 header_bytes, u64 payload_bytes   16 bytes
//   header                                           a serialized proto
//   payload                                          raw tensors, one after the other
//   u64 checksum                                     XXH3 of everything before
//
// Tensors are neither copied on their way out (frames refer to the caller's memory) nor more than
// once on their way in (from gRPC's slices to their destination).

namespace cairn::cluster {

// Of a whole frame; set as gRPC's limit on both sides.
inline constexpr size_t kFrameBytesMax = size_t{256} << 20;

// A stretch of memory that is sent. `owner` keeps it allocated for as long as gRPC holds on to it,
// which may be longer than the call. The contents must not change before the call has ended;
// afterwards they may (if any of it is still under way, its checksum is wrong and it is refused).
struct FramePiece {
  const void* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;  // Null: the memory outlives every channel and server.

  static FramePiece OfFloats(absl::Span<const float> values, std::shared_ptr<const void> owner) {
    return {values.data(), values.size() * sizeof(float), std::move(owner)};
  }
};

// An encoded frame, or what claims to be one: a counted reference to gRPC's buffer. Default: empty.
class Frame {
 public:
  Frame() = default;
  explicit Frame(std::shared_ptr<grpc::ByteBuffer> buffer) : buffer_(std::move(buffer)) {}
  // Of these bytes, copied: for tests.
  static Frame FromBytes(std::string_view bytes);

  // 0 if empty.
  size_t bytes() const;
  // All of it in one string, copied: for tests.
  std::string ToBytes() const;
  // May be null.
  const std::shared_ptr<grpc::ByteBuffer>& buffer() const { return buffer_; }

 private:
  std::shared_ptr<grpc::ByteBuffer> buffer_;
};

// Reads all of `pieces` once, for the checksum, and copies none of them.
// InvalidArgument: the frame would be larger than kFrameBytesMax.
absl::StatusOr<Frame> EncodeFrame(const google::protobuf::MessageLite& header,
                                  std::vector<FramePiece> pieces);

// Reads a frame that anybody may have sent. Not thread-safe; movable.
class FrameReader {
 public:
  // Verifies lengths and checksum of the whole frame before it parses the header into `*header`.
  // DataLoss: cut short, too long, or changed under way. InvalidArgument: not a frame, too large,
  // or the header is not a message of this type.
  static absl::StatusOr<FrameReader> Open(Frame frame, google::protobuf::MessageLite* header);

  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;
  ~FrameReader();

  // Bytes of the payload that have not been read.
  size_t bytes_left() const;

  // Copies the next values out. InvalidArgument if fewer are left; then nothing was read.
  absl::Status Read(absl::Span<float> destination);
  absl::Status ReadBytes(void* destination, size_t bytes);

  // InvalidArgument unless all was read.
  absl::Status ExpectEnd() const;

 private:
  struct State;
  explicit FrameReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_TENSOR_CODEC_H_
