#include "cluster/tensor_codec.h"

#define XXH_STATIC_LINKING_ONLY  // So that the state can stand on the stack.
#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/check.h"

#if defined(CAIRN_THREAD_SANITIZER)
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace cairn::cluster {
namespace {

// While one of these lives thread sanitizer does not look at what this thread reads. For slices:
// threads of gRPC's wrote them, and how gRPC hands them over it does not see either.
class UncheckedReads {
 public:
#if defined(CAIRN_THREAD_SANITIZER)
  UncheckedReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~UncheckedReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  UncheckedReads() {}
#endif
  UncheckedReads(const UncheckedReads&) = delete;
  UncheckedReads& operator=(const UncheckedReads&) = delete;
};

static_assert(std::endian::native == std::endian::little, "frames are little endian");

constexpr uint32_t kMagic = 0x46726943;  // "CirF"
constexpr size_t kChecksumBytes = sizeof(uint64_t);
// A header names blocks; even 100,000 of them are far below.
constexpr size_t kHeaderBytesMax = size_t{4} << 20;

struct Prefix {
  uint32_t magic = kMagic;
  uint32_t header_bytes = 0;
  uint64_t payload_bytes = 0;
};
static_assert(sizeof(Prefix) == 16);

constexpr size_t kOverheadBytes = sizeof(Prefix) + kChecksumBytes;

class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }
  void Add(const void* data, size_t bytes) { XXH3_64bits_update(&state_, data, bytes); }
  uint64_t Digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

// gRPC gives no slice that is both its own and writable; until it is sent this one is only ours.
uint8_t* Writable(grpc::Slice& slice) { return const_cast<uint8_t*>(slice.begin()); }

void DropOwner(void* owner) { delete static_cast<std::shared_ptr<const void>*>(owner); }

grpc::Slice SliceOf(FramePiece piece) {
  if (piece.owner == nullptr) {
    return grpc::Slice(piece.data, piece.bytes, grpc::Slice::STATIC_SLICE);
  }
  return grpc::Slice(const_cast<void*>(piece.data), piece.bytes, &DropOwner,
                     new std::shared_ptr<const void>(std::move(piece.owner)));
}

absl::Status CheckSize(size_t header_bytes, size_t payload_bytes) {
  if (header_bytes > kHeaderBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a frame's header of ", header_bytes,
                                                   " bytes is larger than the limit of ",
                                                   kHeaderBytesMax, ": name fewer blocks"));
  }
  if (payload_bytes > kFrameBytesMax - kOverheadBytes - header_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("a frame with ", payload_bytes,
                                                   " bytes of tensors is larger than the limit of ",
                                                   kFrameBytesMax, ": send fewer blocks at once"));
  }
  return absl::OkStatus();
}

}  // namespace

Frame Frame::FromBytes(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return Frame(std::make_shared<grpc::ByteBuffer>(&slice, 1));
}

size_t Frame::bytes() const {
  return buffer_ != nullptr && buffer_->Valid() ? buffer_->Length() : 0;
}

std::string Frame::ToBytes() const {
  std::string bytes;
  if (this->bytes() == 0) return bytes;
  std::vector<grpc::Slice> slices;
  CAIRN_CHECK(buffer_->Dump(&slices).ok());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

absl::StatusOr<Frame> EncodeFrame(const google::protobuf::MessageLite& header,
                                  std::vector<FramePiece> pieces) {
  Prefix prefix;
  const size_t header_bytes = header.ByteSizeLong();
  for (const FramePiece& piece : pieces) prefix.payload_bytes += piece.bytes;
  if (absl::Status status = CheckSize(header_bytes, prefix.payload_bytes); !status.ok()) {
    return status;
  }
  prefix.header_bytes = static_cast<uint32_t>(header_bytes);

  grpc::Slice head(sizeof(Prefix) + header_bytes);
  std::memcpy(Writable(head), &prefix, sizeof(Prefix));
  header.SerializeWithCachedSizesToArray(Writable(head) + sizeof(Prefix));

  Checksum checksum;
  checksum.Add(head.begin(), head.size());
  for (const FramePiece& piece : pieces) checksum.Add(piece.data, piece.bytes);
  const uint64_t digest = checksum.Digest();

  std::vector<grpc::Slice> slices;
  slices.reserve(pieces.size() + 2);
  slices.push_back(std::move(head));
  for (FramePiece& piece : pieces) {
    if (piece.bytes > 0) slices.push_back(SliceOf(std::move(piece)));
  }
  slices.emplace_back(&digest, sizeof(digest));
  return Frame(std::make_shared<grpc::ByteBuffer>(slices.data(), slices.size()));
}

// A cursor over gRPC's slices.
struct FrameReader::State {
  std::vector<grpc::Slice> slices;
  size_t slice = 0;   // The cursor's slice,
  size_t offset = 0;  // and place in it.
  size_t bytes_left = 0;

  // The caller has checked that there are that many.
  void Copy(void* destination, size_t bytes) {
    const UncheckedReads slices_are_grpcs;
    auto* to = static_cast<uint8_t*>(destination);
    while (bytes > 0) {
      const grpc::Slice& from = slices[slice];
      const size_t part = std::min(bytes, from.size() - offset);
      std::memcpy(to, from.begin() + offset, part);
      to += part;
      bytes -= part;
      offset += part;
      if (offset == from.size()) {
        ++slice;
        offset = 0;
      }
    }
  }
};

namespace {

uint64_t ChecksumOfFirst(const std::vector<grpc::Slice>& slices, size_t bytes) {
  Checksum checksum;
  for (const grpc::Slice& slice : slices) {
    const size_t part = std::min(bytes, slice.size());
    checksum.Add(slice.begin(), part);
    bytes -= part;
  }
  return checksum.Digest();
}

uint64_t StoredChecksum(const std::vector<grpc::Slice>& slices) {
  uint8_t stored[kChecksumBytes];
  size_t missing = kChecksumBytes;
  for (auto slice = slices.rbegin(); missing > 0 && slice != slices.rend(); ++slice) {
    const size_t part = std::min(missing, slice->size());
    std::memcpy(stored + missing - part, slice->end() - part, part);
    missing -= part;
  }
  uint64_t digest;
  std::memcpy(&digest, stored, sizeof(digest));
  return digest;
}

absl::Status CheckPrefix(const Prefix& prefix, size_t frame_bytes) {
  if (prefix.magic != kMagic) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a frame: it begins with 0x", absl::Hex(prefix.magic), ", not 0x",
                     absl::Hex(kMagic), "; is the sender another program?"));
  }
  const size_t content_bytes = frame_bytes - kOverheadBytes;
  if (prefix.header_bytes > kHeaderBytesMax) return CheckSize(prefix.header_bytes, 0);
  if (prefix.header_bytes > content_bytes ||
      prefix.payload_bytes != content_bytes - prefix.header_bytes) {
    return absl::DataLossError(absl::StrCat("a frame of ", frame_bytes, " bytes announces ",
                                            prefix.header_bytes, " of header and ",
                                            prefix.payload_bytes, " of tensors"));
  }
  return absl::OkStatus();
}

}  // namespace

FrameReader::FrameReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;
FrameReader::~FrameReader() = default;

absl::StatusOr<FrameReader> FrameReader::Open(Frame frame, google::protobuf::MessageLite* header) {
  const size_t frame_bytes = frame.bytes();
  if (frame_bytes < kOverheadBytes) {
    return absl::DataLossError(absl::StrCat("a frame of ", frame_bytes,
                                            " bytes is shorter than the ", kOverheadBytes,
                                            " that every frame has"));
  }
  if (frame_bytes > kFrameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a frame of ", frame_bytes, " bytes is larger than the limit of ", kFrameBytesMax));
  }
  auto state = std::make_unique<State>();
  if (!frame.buffer()->Dump(&state->slices).ok()) {
    return absl::DataLossError("a frame could not be decompressed");
  }
  Prefix prefix;
  state->Copy(&prefix, sizeof(prefix));
  if (absl::Status status = CheckPrefix(prefix, frame_bytes); !status.ok()) return status;
  if (ChecksumOfFirst(state->slices, frame_bytes - kChecksumBytes) !=
      StoredChecksum(state->slices)) {
    return absl::DataLossError(
        absl::StrCat("a frame of ", frame_bytes, " bytes was changed under way: wrong checksum"));
  }
  std::string header_bytes(prefix.header_bytes, '\0');
  state->Copy(header_bytes.data(), header_bytes.size());
  if (!header->ParseFromString(header_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("a frame's header of ", prefix.header_bytes,
                                                   " bytes is not a ", header->GetTypeName()));
  }
  state->bytes_left = prefix.payload_bytes;
  return FrameReader(std::move(state));
}

size_t FrameReader::bytes_left() const { return state_->bytes_left; }

absl::Status FrameReader::Read(absl::Span<float> destination) {
  return ReadBytes(destination.data(), destination.size() * sizeof(float));
}

absl::Status FrameReader::ReadBytes(void* destination, size_t bytes) {
  if (bytes > state_->bytes_left) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of ", bytes,
                                                   " bytes is expected in a frame that has only ",
                                                   state_->bytes_left, " left"));
  }
  state_->Copy(destination, bytes);
  state_->bytes_left -= bytes;
  return absl::OkStatus();
}

absl::Status FrameReader::ExpectEnd() const {
  if (state_->bytes_left == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a frame has ", state_->bytes_left, " bytes of tensors too many"));
}

}  // namespace cairn::cluster
